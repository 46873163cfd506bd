"""Legal and contractual clocks: rules as dated data, computed only where a person said so."""
