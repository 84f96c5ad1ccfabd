// The network of a machine file: which memories a node's adapters reach, and the resources that
// such copies use.

#include <fmt/format.h>

#include <algorithm>

#include "machine/machine_reader.h"
#include "machine/pattern.h"

namespace polypath::machine {

void NetworkReader::read(const JsonField& field) {
  field.allow_only({"latency", "bandwidth", "ends", "note"});
  field.check_note(kLongestSentence);
  machine_.network.emplace();
  machine_.network->latency = quantities_.duration(field.at("latency"));
  machine_.network->bandwidth = quantities_.rate(field.at("bandwidth"));
  for (const JsonField& end : field.at("ends").elements(kMostPlaces)) read_end(end);
}

void NetworkReader::read_end(const JsonField& field) {
  field.allow_only({"place", "out", "in", "note"});
  field.check_note(kLongestSentence);
  auto& ends = machine_.network->ends;
  for (const PlaceId place : places_at(machine_, field.at("place"))) {
    if (std::any_of(ends.begin(), ends.end(), [&](const auto& end) { return end.place == place; }))
      field.at("place").reject(fmt::format("names {} again", machine_.place(place).name),
                               "each memory is one end of the network");
    ends.push_back({place, read_uses(field.at("out"), place), read_uses(field.at("in"), place)});
  }
}

std::vector<Use> NetworkReader::read_uses(const JsonField& field, PlaceId place) {
  std::vector<Use> uses;
  for (const JsonField& use : field.elements(kMostUses))
    resources_.read_use(use, substitute(used_name(use), {{"{place}", machine_.place(place).name}}),
                        machine_.network->bandwidth, uses);
  return uses;
}

}  // namespace polypath::machine
