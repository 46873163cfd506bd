"""What prefill times say."""
