"""SCALE-QA in the tools of others: tasks and logs of Inspect, data sets of Hugging Face."""
