"""The grader behind `qkv grade`: a learner's own notebook without a sandbox, or a whole class in one."""
