// SPDX-License-Identifier: Apache-2.0
#include "collect/flight_recorder/pickle.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "core/parse.hpp"

namespace autopilot::collect {
namespace {

// The opcodes of data, with the values of the format.
enum class Op : std::uint8_t {
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
constexpr std::array kRefused = {
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

constexpr std::size_t kValueBytes =
    sizeof(PickleValue) + 112;  // with its counters, and what is noted about it
constexpr int kHighestProtocol = 5;

using MutableRef = std::shared_ptr<PickleValue>;

class Machine {
 public:
  Machine(std::string_view bytes, const PickleLimits& limits) : rest_(bytes), limits_(limits) {}

  Result<PickleRef> run() {
    while (true) {
      const auto code = static_cast<std::uint8_t>(TRY(take(1)).front());
      if (static_cast<Op>(code) == Op::stop) break;
      TRY_STATUS(execute(code));
    }
    if (stack_.empty() || !marks_.empty()) return malformed("ends without a value");
    return PickleRef(stack_.back());
  }

 private:
  [[nodiscard]] static tl::unexpected<Error> malformed(const std::string& what) {
    return fail(Errc::malformed, "pickle: " + what);
  }
  [[nodiscard]] static tl::unexpected<Error> exhausted(const std::string& what) {
    return fail(Errc::exhausted, "pickle: " + what);
  }

  Result<std::string_view> take(std::size_t bytes) {
    if (bytes > rest_.size()) return malformed("truncated");
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }

  Result<std::string_view> take_line() {
    const std::size_t end = rest_.find('\n');
    if (end == std::string_view::npos || end > 64) return malformed("a number is not complete");
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return line;
  }

  // Little-endian.
  Result<std::uint64_t> take_number(std::size_t bytes) {
    const std::string_view taken = TRY(take(bytes));
    std::uint64_t number = 0;
    for (std::size_t i = bytes; i > 0; --i)
      number = number << 8U | static_cast<std::uint8_t>(taken[i - 1]);
    return number;
  }

  Status execute(std::uint8_t code) {
    switch (static_cast<Op>(code)) {
      case Op::proto:
      case Op::frame:
        return skip_header(static_cast<Op>(code));
      case Op::none:
      case Op::newtrue:
      case Op::newfalse:
      case Op::integer:
      case Op::binint:
      case Op::binint1:
      case Op::binint2:
      case Op::long_text:
      case Op::long1:
      case Op::binfloat:
        return push_scalar(static_cast<Op>(code));
      case Op::binunicode:
      case Op::binstring:
      case Op::binbytes:
        return push_text(4);
      case Op::short_binunicode:
      case Op::short_binstring:
      case Op::short_binbytes:
        return push_text(1);
      case Op::binunicode8:
      case Op::binbytes8:
        return push_text(8);
      case Op::get:
      case Op::binget:
      case Op::long_binget:
        return push_from_memo(static_cast<Op>(code));
      case Op::put:
      case Op::binput:
      case Op::long_binput:
      case Op::memoize:
        return put_into_memo(static_cast<Op>(code));
      case Op::mark:
      case Op::pop:
      case Op::pop_mark:
      case Op::dup:
        return change_stack(static_cast<Op>(code));
      case Op::empty_dict:
      case Op::empty_list:
      case Op::empty_tuple:
      case Op::empty_set:
      case Op::dict:
      case Op::list:
      case Op::tuple:
      case Op::tuple1:
      case Op::tuple2:
      case Op::tuple3:
      case Op::frozenset:
        return push_container(static_cast<Op>(code));
      case Op::append:
      case Op::appends:
      case Op::additems:
      case Op::setitem:
      case Op::setitems:
        return fill_container(static_cast<Op>(code));
      case Op::stop:
        break;
    }
    return refuse(code);
  }

  [[nodiscard]] static Status refuse(std::uint8_t code) {
    const auto known = std::ranges::find(kRefused, code, &NamedOpcode::code);
    if (known != kRefused.end())
      return fail(Errc::unsupported,
                  "pickle: opcode " + std::string(known->name) + " is not data and is not executed");
    return malformed("unknown opcode " + std::to_string(code));
  }

  Status skip_header(Op op) {
    if (op == Op::frame) return take(8).map([](std::string_view) {});
    if (TRY(take_number(1)) > kHighestProtocol) return malformed("unknown protocol");
    return {};
  }

  Status push(PickleValue value, std::size_t bytes = 0) {
    memory_ += bytes;
    ++values_;
    return push_ref(std::make_shared<PickleValue>(std::move(value)));
  }

  Status push_ref(MutableRef value) {
    memory_ += kValueBytes;
    if (values_ > limits_.values) return exhausted("more than " + std::to_string(limits_.values) + " values");
    if (memory_ > limits_.memory)
      return exhausted("its values take more than " + std::to_string(limits_.memory) + " bytes");
    stack_.push_back(std::move(value));
    return {};
  }

  Status push_scalar(Op op) {
    switch (op) {
      case Op::none:
        return push({PickleNone{}});
      case Op::newtrue:
        return push({true});
      case Op::newfalse:
        return push({false});
      case Op::binint:
        return push({static_cast<std::int64_t>(static_cast<std::int32_t>(TRY(take_number(4))))});
      case Op::binint1:
        return push({static_cast<std::int64_t>(TRY(take_number(1)))});
      case Op::binint2:
        return push({static_cast<std::int64_t>(TRY(take_number(2)))});
      case Op::long1:
        return push_long();
      case Op::binfloat:
        return push_float();
      default:
        return push_number_text();
    }
  }

  // Little-endian in two's complement. A number that needs more than 64 bits is none here.
  Status push_long() {
    const auto size = static_cast<std::size_t>(TRY(take_number(1)));
    const std::string_view bytes = TRY(take(size));
    if (size > 8) return push({PickleNone{}});
    const bool is_negative = size > 0 && (static_cast<std::uint8_t>(bytes.back()) & 0x80U) != 0;
    std::uint64_t number = is_negative ? ~std::uint64_t{0} : 0;
    for (std::size_t i = size; i > 0; --i)
      number = number << 8U | static_cast<std::uint8_t>(bytes[i - 1]);
    return push({static_cast<std::int64_t>(number)});
  }

  // Big-endian.
  Status push_float() {
    const std::string_view bytes = TRY(take(8));
    std::uint64_t bits = 0;
    for (const char byte : bytes)
      bits = bits << 8U | static_cast<std::uint8_t>(byte);
    return push({std::bit_cast<double>(bits)});
  }

  // "42", "42L"; "00" and "01" are the booleans of protocol 0.
  Status push_number_text() {
    std::string_view line = TRY(take_line());
    if (line == "00" || line == "01") return push({line == "01"});
    if (line.ends_with('L')) line.remove_suffix(1);
    const auto number = parse_number<std::int64_t>(line);
    if (!number) return malformed("not a number");
    return push({*number});
  }

  Status push_text(std::size_t length_bytes) {
    const std::uint64_t length = TRY(take_number(length_bytes));
    if (length > rest_.size()) return malformed("truncated");
    const std::string_view text = TRY(take(static_cast<std::size_t>(length)));
    return push({std::string(text)}, text.size());
  }

  Result<std::uint64_t> memo_index(Op op) {
    switch (op) {
      case Op::get:
      case Op::put: {
        const auto number = parse_number<std::uint64_t>(TRY(take_line()));
        if (!number) return malformed("not an index of the memo");
        return *number;
      }
      case Op::memoize:
        return memo_.size();
      case Op::binget:
      case Op::binput:
        return take_number(1);
      default:
        return take_number(4);
    }
  }

  Status push_from_memo(Op op) {
    const auto found = memo_.find(TRY(memo_index(op)));
    if (found == memo_.end()) return malformed("the memo has no such value");
    return push_ref(found->second);
  }

  Status put_into_memo(Op op) {
    const std::uint64_t index = TRY(memo_index(op));
    if (stack_.empty()) return malformed("the stack is empty");
    memory_ += kValueBytes;
    if (memory_ > limits_.memory) return exhausted("its memo is too large");
    memo_.insert_or_assign(index, stack_.back());
    return {};
  }

  Status change_stack(Op op) {
    switch (op) {
      case Op::mark:
        memory_ += sizeof(std::size_t);
        if (memory_ > limits_.memory) return exhausted("too many marks");
        marks_.push_back(stack_.size());
        return {};
      case Op::pop_mark:
        return take_to_mark().map([](const std::vector<MutableRef>&) {});
      case Op::pop:
        return take_top().map([](const MutableRef&) {});
      default:
        if (stack_.size() <= floor()) return malformed("the stack is empty");
        return push_ref(stack_.back());
    }
  }

  // Values below the last mark cannot be taken.
  [[nodiscard]] std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }

  Result<MutableRef> take_top() {
    if (stack_.size() <= floor()) return malformed("the stack is empty");
    MutableRef value = std::move(stack_.back());
    stack_.pop_back();
    return value;
  }

  Result<std::vector<MutableRef>> take_to_mark() {
    if (marks_.empty() || marks_.back() > stack_.size()) return malformed("no mark");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<MutableRef> taken(std::make_move_iterator(begin), std::make_move_iterator(stack_.end()));
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return taken;
  }

  Result<std::vector<MutableRef>> take_values(std::size_t count) {
    if (stack_.size() - floor() < count) return malformed("the stack is too short");
    const auto begin = stack_.end() - static_cast<std::ptrdiff_t>(count);
    std::vector<MutableRef> taken(std::make_move_iterator(begin), std::make_move_iterator(stack_.end()));
    stack_.erase(begin, stack_.end());
    return taken;
  }

  Status push_container(Op op) {
    switch (op) {
      case Op::empty_dict:
        return push({PickleDict{}});
      case Op::empty_list:
      case Op::empty_tuple:
      case Op::empty_set:
        return push({PickleList{}});
      case Op::dict:
        return push_filled({PickleDict{}}, TRY(take_to_mark()));
      case Op::tuple1:
      case Op::tuple2:
      case Op::tuple3:
        return push_filled({PickleList{}}, TRY(take_values(static_cast<std::size_t>(op) - 0x84)));
      default:
        return push_filled({PickleList{}}, TRY(take_to_mark()));
    }
  }

  Status push_filled(PickleValue empty, std::vector<MutableRef> items) {
    TRY_STATUS(push(std::move(empty)));
    return fill(std::move(items));
  }

  Status fill_container(Op op) {
    switch (op) {
      case Op::append:
        return fill(TRY(take_values(1)));
      case Op::setitem:
        return fill(TRY(take_values(2)));
      default:
        return fill(TRY(take_to_mark()));
    }
  }

  // Puts values into the container on top of the stack. A container that is already inside another one does
  // not change any more: otherwise one could contain itself.
  Status fill(std::vector<MutableRef> items) {
    if (stack_.size() <= floor()) return malformed("the stack is empty");
    const MutableRef container = stack_.back();
    if (sealed_.contains(container.get()))
      return fail(Errc::unsupported, "pickle: a container changes after its use");
    std::size_t depth = depth_of(*container);
    for (const MutableRef& item : items) {
      if (item == container) return fail(Errc::unsupported, "pickle: a container contains itself");
      depth = std::max(depth, depth_of(*item) + 1);
    }
    if (depth > limits_.depth) return exhausted("deeper than " + std::to_string(limits_.depth));
    depths_[container.get()] = depth;
    memory_ += items.size() * sizeof(PickleRef);
    for (const MutableRef& item : items)
      if (is_container(*item)) sealed_.emplace(item.get(), item);
    return put_items(*container, std::move(items));
  }

  static Status put_items(PickleValue& container, std::vector<MutableRef> items) {
    if (auto* const list = std::get_if<PickleList>(&container.value)) {
      for (MutableRef& item : items)
        list->push_back(std::move(item));
      return {};
    }
    auto* const dict = std::get_if<PickleDict>(&container.value);
    if (dict == nullptr || items.size() % 2 != 0)
      return malformed("items for something that is not a container");
    for (std::size_t i = 0; i < items.size(); i += 2)
      dict->emplace_back(std::move(items[i]), std::move(items[i + 1]));
    return {};
  }

  static bool is_container(const PickleValue& value) {
    return value.list() != nullptr || value.dict() != nullptr;
  }

  [[nodiscard]] std::size_t depth_of(const PickleValue& value) const {
    if (!is_container(value)) return 0;
    const auto found = depths_.find(&value);
    return found == depths_.end() ? 1 : found->second;
  }

  std::string_view rest_;
  const PickleLimits limits_;
  std::vector<MutableRef> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, MutableRef> memo_;
  std::unordered_map<const PickleValue*, MutableRef> sealed_;  // containers inside another one
  std::unordered_map<const PickleValue*, std::size_t> depths_;
  std::size_t values_ = 0;
  std::size_t memory_ = 0;
};

}  // namespace

std::optional<std::int64_t> PickleValue::integer() const {
  if (const auto* const number = std::get_if<std::int64_t>(&value)) return *number;
  if (const std::string* const digits = text()) return parse_number<std::int64_t>(*digits);
  return std::nullopt;
}

const PickleValue* PickleValue::member(std::string_view key) const {
  const PickleDict* const entries = dict();
  if (entries == nullptr) return nullptr;
  for (auto entry = entries->rbegin(); entry != entries->rend(); ++entry)
    if (const std::string* const name = entry->first->text(); name != nullptr && *name == key)
      return entry->second.get();
  return nullptr;
}

Result<PickleRef> parse_pickle(std::string_view bytes, const PickleLimits& limits) {
  if (bytes.size() > limits.bytes)
    return fail(Errc::exhausted, "pickle: longer than " + std::to_string(limits.bytes) + " bytes");
  return Machine(bytes, limits).run();
}

}  // namespace autopilot::collect
