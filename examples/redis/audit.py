#!/usr/bin/env python3
import bakeoff
from redis import Redis

redis = Redis()


def check(key):
    value = redis.call("GET", key)
    if value is None:
        return "lost"
    return "ok" if value == f"value of {key}" else "torn"


bakeoff.audit(check)
