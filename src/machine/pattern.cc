#include "machine/pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace polypath::machine {
namespace {

constexpr std::size_t kLongestPlainName = 64;

// Reads a number of at most six digits that fills `text`; -1 if it is none.
int read_number(std::string_view text) {
  int number = -1;
  if (text.empty() || text.size() > 6) return -1;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool complete = error == std::errc{} && rest == text.data() + text.size();
  return complete && number >= 0 ? number : -1;
}

// "gpu*" against "gpu12": one star, for any run of characters.
bool matches(std::string_view pattern, std::string_view name) {
  const auto star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  const std::string_view head = pattern.substr(0, star);
  const std::string_view tail = pattern.substr(star + 1);
  return name.size() >= head.size() + tail.size() && name.starts_with(head) && name.ends_with(tail);
}

bool all_of(std::string_view text, std::string_view allowed) {
  return text.find_first_not_of(allowed) == std::string_view::npos;
}

}  // namespace

std::vector<NumberedName> expand_range(std::string_view pattern, std::size_t limit) {
  const auto open = pattern.find('[');
  if (open == std::string_view::npos) return {{std::string(pattern), 0}};
  const auto dash = pattern.find('-', open);
  const auto close = pattern.find(']', open);
  if (dash == std::string_view::npos || close == std::string_view::npos || dash > close) return {};
  const int first = read_number(pattern.substr(open + 1, dash - open - 1));
  const int last = read_number(pattern.substr(dash + 1, close - dash - 1));
  const bool sound = first >= 0 && last >= first;
  if (!sound || static_cast<std::size_t>(last - first) >= limit) return {};
  std::vector<NumberedName> names;
  for (int number = first; number <= last; ++number)
    names.push_back(
        {fmt::format("{}{}{}", pattern.substr(0, open), number, pattern.substr(close + 1)),
         number});
  return names;
}

bool is_pattern(std::string_view pattern) {
  return pattern.find_first_of("*[]{}") != std::string_view::npos;
}

std::vector<PlaceId> select_places(const std::vector<Place>& places, std::string_view pattern) {
  const auto names = expand_range(pattern, places.size());
  std::vector<PlaceId> selected;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const bool wanted = std::any_of(names.begin(), names.end(), [&](const NumberedName& name) {
      return matches(name.name, places[i].name);
    });
    if (wanted) selected.push_back({static_cast<std::int32_t>(i)});
  }
  return selected;
}

std::vector<std::string> expand_resource_name(const std::vector<Place>& places,
                                              std::string_view pattern) {
  if (!is_pattern(pattern)) return {std::string(pattern)};
  const auto dot = std::min(pattern.find('.'), pattern.size());
  const std::string_view owner = pattern.substr(0, dot);
  const std::string_view suffix = pattern.substr(dot);
  // A dash inside brackets belongs to a range, one outside separates the two places of a pair.
  std::size_t dash = 0;
  bool inside = false;
  for (; dash < owner.size() && (inside || owner[dash] != '-'); ++dash)
    inside = owner[dash] == '[' || (inside && owner[dash] != ']');
  const auto name_of = [&](PlaceId id) { return places[id.index()].name; };
  std::vector<std::string> names;
  for (const PlaceId from : select_places(places, owner.substr(0, dash))) {
    if (dash == owner.size()) names.push_back(fmt::format("{}{}", name_of(from), suffix));
    if (dash == owner.size()) continue;
    for (const PlaceId to : select_places(places, owner.substr(dash + 1)))
      if (from != to) names.push_back(fmt::format("{}-{}{}", name_of(from), name_of(to), suffix));
  }
  return names;
}

std::string substitute(std::string_view text, std::initializer_list<Substitution> names) {
  std::string result;
  while (!text.empty()) {
    const auto found = std::find_if(names.begin(), names.end(), [&](const Substitution& name) {
      return text.starts_with(name.placeholder);
    });
    const bool is_name = found != names.end();
    result += is_name ? found->value : text.substr(0, 1);
    text.remove_prefix(is_name ? found->placeholder.size() : 1);
  }
  return result;
}

namespace {

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestPlainName && name[0] >= 'a' && name[0] <= 'z' &&
         all_of(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
}

}  // namespace

bool is_place_name(std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return is_plain_name(name);
  return name.size() <= kLongestPlainName && is_plain_name(name.substr(0, dot)) &&
         is_plain_name(name.substr(dot + 1));
}

bool is_resource_name(std::string_view name) {
  return is_machine_name(name) && name.find(':') == std::string_view::npos;
}

bool is_machine_name(std::string_view name) {
  return !name.empty() && name.size() <= 3 * kLongestPlainName &&
         all_of(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-:");
}

}  // namespace polypath::machine
