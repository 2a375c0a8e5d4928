"""Jobs: how a wish becomes true on a host. The queue, the engine, the transport, the collector."""
