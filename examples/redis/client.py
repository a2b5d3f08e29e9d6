#!/usr/bin/env python3
import bakeoff
from redis import Redis

redis = Redis()
last = 0


def set(number):
    global last
    key, last = f"{bakeoff.CLIENT}:{number}", number
    redis.call("SET", key, f"value of {key}")
    bakeoff.ack(key)


def get(number):
    redis.call("GET", f"{bakeoff.CLIENT}:{last}")


bakeoff.serve(set=set, get=get)
