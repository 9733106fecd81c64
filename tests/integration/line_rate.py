#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""line_rate.py INTERFACE MEGABITS: sets the speed that the kernel reports for a TAP interface (/sys/class/net/INTERFACE/speed)."""

import ctypes
import fcntl
import socket
import struct
import sys

SIOCETHTOOL = 0x8946
ETHTOOL_GSET, ETHTOOL_SSET = 1, 2
SETTINGS = "=IIIHBBBBBBIIHBBI8x"  # struct ethtool_cmd
COMMAND, SPEED_LOW, SPEED_HIGH = 0, 3, 12


def ask(interface, settings):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        buffer = ctypes.create_string_buffer(settings, len(settings))
        fcntl.ioctl(asked, SIOCETHTOOL, struct.pack("16sQ16x", interface.encode(), ctypes.addressof(buffer)))
        return buffer.raw


def main(interface, megabits):
    fields = list(struct.unpack(SETTINGS, ask(interface, struct.pack(SETTINGS, ETHTOOL_GSET, *[0] * 15))))
    fields[COMMAND], fields[SPEED_LOW], fields[SPEED_HIGH] = ETHTOOL_SSET, megabits & 0xFFFF, megabits >> 16
    ask(interface, struct.pack(SETTINGS, *fields))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
