"""Knobs for small models on a CPU, whose results are the same to the bit."""

AURORA = {
    "AURORA_MODEL": "tiny",
    "AURORA_DEVICE": "cpu",
    "AURORA_THREADS": "1",
    "AURORA_AUTOCAST": "false",
    "AURORA_LEARNING_RATE": "0.01",
    "AURORA_MAX_STEPS": "4",
    "AURORA_CHECKPOINT_STEPS": "2",
}

LLM = {
    "LLM_DEVICE": "cpu",
    "LLM_THREADS": "1",
    "LLM_PRECISION": "fp32",
    "LLM_CUTOFF_LEN": "128",
    "LLM_MAX_STEPS": "4",
    "LLM_BATCH_SIZE": "2",
    "LLM_ACCUMULATE": "1",
    "LLM_LEARNING_RATE": "0.01",
    "LLM_CHECKPOINT_STEPS": "2",
    "LLM_PREPROCESSING_WORKERS": "1",
    "LLM_LORA_DROPOUT": "0.1",
}

BATCH = {
    "BATCH_ENGINE": "transformers",
    "BATCH_DEVICE": "cpu",
    "BATCH_THREADS": "1",
    "BATCH_PRECISION": "fp32",
    "BATCH_MAX_TOKENS": "8",
    "BATCH_MAX_MODEL_LEN": "128",
    "BATCH_SHARD_ROWS": "5",
    "BATCH_BATCH_SIZE": "3",
}
