"""`tsim proxy`: a memory between programs and a server with the OpenAI chat API."""
