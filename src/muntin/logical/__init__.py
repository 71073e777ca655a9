"""From a set of windows to the cheapest plan: coverage graph, cost, algorithms, rewriting."""
