// Damaged machine files, always the same ones: each either still is a machine or is refused with
// Error (invalid_machine). Nothing else may come out, least of all a crash.

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>

#include "core/error.h"
#include "machine/load_machine.h"
#include "support/source_path.h"

namespace polypath::test::fuzz_test {
namespace {

using nlohmann::json;
using Generator = std::mt19937_64;

std::string text_of(const std::string& zoo_name) {
  std::ifstream file(test::source_path("machines/" + zoo_name + ".json"));
  return {std::istreambuf_iterator<char>(file), {}};
}

void expect_machine_or_message(const std::string& text) {
  try {
    validate(parse_machine(text, "damaged.json"));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_machine) << text;
    EXPECT_TRUE(std::string_view(error.what()).starts_with("damaged.json")) << error.what();
  }
}

std::size_t below(Generator& generator, std::size_t limit) { return generator() % limit; }

std::string damage_bytes(std::string text, Generator& generator) {
  for (std::size_t count = 1 + below(generator, 4); count > 0; --count) {
    const std::size_t at = below(generator, text.size());
    switch (below(generator, 4)) {
      case 0: text[at] = static_cast<char>(generator()); break;
      case 1: text.erase(at, below(generator, 40)); break;
      case 2: text.insert(at, text.substr(below(generator, text.size()), 30)); break;
      default: text[at] = "{}[]\",:0-e*"[below(generator, 11)];
    }
    if (text.empty()) text = " ";
  }
  return text;
}

json strange_value(Generator& generator) {
  switch (below(generator, 12)) {
    case 0: return nullptr;
    case 1: return -1;
    case 2: return 0;
    case 3: return 1e308;
    case 4: return -1e-308;
    case 5: return std::uint64_t{0xffffffffffffffffU};
    case 6: return std::string(5000, 'x');
    case 7: return "gpu[0-999999]";
    case 8: return "gpu*-gpu*-gpu*.*";
    case 9: return json::array({1, "{from}", json::object()});
    case 10: return json::object({{"value", 1}, {"unit", "us"}});
    default: return "\xc3\xa9{to}";
  }
}

// Replaces, removes or copies one value somewhere in the document.
json damage_value(json file, Generator& generator) {
  const json flat = file.flatten();
  auto leaf = flat.begin();
  std::advance(leaf, static_cast<std::ptrdiff_t>(below(generator, flat.size())));
  json::json_pointer where(leaf.key());
  for (std::size_t up = below(generator, 3); up > 0 && !where.parent_pointer().empty(); --up)
    where = where.parent_pointer();
  json& parent = file[where.parent_pointer()];
  switch (below(generator, 3)) {
    case 0: file[where] = strange_value(generator); break;
    case 1:
      if (parent.is_object()) parent.erase(where.back());
      break;
    default: file[where] = json(*leaf);
  }
  return file;
}

class Damaged : public testing::TestWithParam<std::string> {};

TEST_P(Damaged, BytesGiveAMachineOrAMessage) {
  const std::string text = text_of(GetParam());
  Generator generator(20261120);

  for (int round = 0; round < 400; ++round)
    expect_machine_or_message(damage_bytes(text, generator));
}

TEST_P(Damaged, ValuesGiveAMachineOrAMessage) {
  const json file = json::parse(text_of(GetParam()));
  Generator generator(20261121);

  for (int round = 0; round < 400; ++round)
    expect_machine_or_message(damage_value(file, generator).dump());
}

TEST_P(Damaged, TruncationGivesAMessage) {
  const std::string text = text_of(GetParam());

  for (std::size_t length = 0; length + 2 < text.size(); length += 37)
    EXPECT_THROW(parse_machine(text.substr(0, length), "cut.json"), Error);
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  return std::to_string(info.index) + "_" + info.param.substr(0, info.param.find('-'));
}

INSTANTIATE_TEST_SUITE_P(Machines, Damaged, testing::ValuesIn(zoo_names()), test_name);

}  // namespace
}  // namespace polypath::test::fuzz_test
