#!/usr/bin/env python3
import bakeoff
from redis import Redis

redis = Redis()


def check(key):
    value = redis.call("GET", key)
    if value is None:
        return "lost"
    if value != f"value of {key}":
        return "torn"


bakeoff.audit(check)
