#pragma once
// The short hand of machine files: "gpu[0-3]" is four names, "gpu*" is every place whose name
// starts with gpu, "gpu*-gpu*.link" is one name per ordered pair. No JSON here.

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.h"

namespace polypath::machine {

/// The names that "gpu[0-3]" stands for, in order, with their numbers; a name without brackets is
/// itself, with number 0. Empty if the brackets are malformed, descend, or span more than `limit`.
struct NumberedName {
  std::string name;
  int number = 0;
};
std::vector<NumberedName> expand_range(std::string_view pattern, std::size_t limit);

/// True if `pattern` is more than a plain name.
bool is_pattern(std::string_view pattern);

/// The places that "gpu*", "gpu[0-3]" or "gpu2" selects, in order.
std::vector<PlaceId> select_places(const std::vector<Place>& places, std::string_view pattern);

/// The resource names that "gpu*.egress" or "gpu*-gpu*.link" stands for: the part before the first
/// dot selects places, or ordered pairs of different places. A plain name is itself.
std::vector<std::string> expand_resource_name(const std::vector<Place>& places,
                                              std::string_view pattern);

/// The value of a placeholder such as "{from}".
struct Substitution {
  std::string_view placeholder;
  std::string_view value;
};
/// `text` with every placeholder replaced. A value is not searched for placeholders again.
std::string substitute(std::string_view text, std::initializer_list<Substitution> names);

/// True for a name of 1 to 64 lower-case letters, digits and underscores that starts with a letter,
/// and for two such with a dot between them: the node's and the place's, "node1.gpu0".
bool is_place_name(std::string_view name);
/// True for a name of 1 to 192 letters, digits and "_.-": room for two places and a word.
bool is_resource_name(std::string_view name);
/// True for a name of 1 to 192 letters, digits and "_.-:", such as "synthetic:7".
bool is_machine_name(std::string_view name);

}  // namespace polypath::machine
