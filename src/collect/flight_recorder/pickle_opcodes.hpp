// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

// Python's pickle format, protocols 0 to 5.
namespace autopilot::collect {

// The opcodes of data, with the values of the format.
enum class PickleOp : std::uint8_t {
  mark = '(',
  stop = '.',
  pop = '0',
  pop_mark = '1',
  dup = '2',
  binfloat = 'G',
  integer = 'I',
  binint = 'J',
  binint1 = 'K',
  long_text = 'L',
  binint2 = 'M',
  none = 'N',
  binunicode = 'X',
  append = 'a',
  dict = 'd',
  empty_dict = '}',
  appends = 'e',
  get = 'g',
  binget = 'h',
  long_binget = 'j',
  list = 'l',
  empty_list = ']',
  put = 'p',
  binput = 'q',
  long_binput = 'r',
  setitem = 's',
  tuple = 't',
  empty_tuple = ')',
  setitems = 'u',
  binstring = 'T',
  short_binstring = 'U',
  binbytes = 'B',
  short_binbytes = 'C',
  proto = 0x80,
  tuple1 = 0x85,
  tuple2 = 0x86,
  tuple3 = 0x87,
  newtrue = 0x88,
  newfalse = 0x89,
  long1 = 0x8a,
  short_binunicode = 0x8c,
  binunicode8 = 0x8d,
  binbytes8 = 0x8e,
  empty_set = 0x8f,
  additems = 0x90,
  frozenset = 0x91,
  memoize = 0x94,
  frame = 0x95,
};

struct NamedOpcode {
  unsigned char code;
  std::string_view name;
};

// Opcodes that are known and refused.
inline constexpr std::array kRefusedOpcodes = {
    NamedOpcode{'c', "GLOBAL"},       NamedOpcode{0x93, "STACK_GLOBAL"},
    NamedOpcode{'R', "REDUCE"},       NamedOpcode{'b', "BUILD"},
    NamedOpcode{'i', "INST"},         NamedOpcode{'o', "OBJ"},
    NamedOpcode{0x81, "NEWOBJ"},      NamedOpcode{0x92, "NEWOBJ_EX"},
    NamedOpcode{'P', "PERSID"},       NamedOpcode{'Q', "BINPERSID"},
    NamedOpcode{0x82, "EXT1"},        NamedOpcode{0x83, "EXT2"},
    NamedOpcode{0x84, "EXT4"},        NamedOpcode{'S', "STRING"},
    NamedOpcode{'V', "UNICODE"},      NamedOpcode{'F', "FLOAT"},
    NamedOpcode{0x8b, "LONG4"},       NamedOpcode{0x96, "BYTEARRAY8"},
    NamedOpcode{0x97, "NEXT_BUFFER"}, NamedOpcode{0x98, "READONLY_BUFFER"},
};

}  // namespace autopilot::collect
