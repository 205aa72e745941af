"""The desk of governed decisions: questions, answers, the envelopes in force."""
