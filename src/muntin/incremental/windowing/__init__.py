"""The windowing library: any kind of window, turned into three events: insert, evict and trigger."""
