"""From a logical plan to a way of running it: strategies, what they cost, and the choice between them."""
