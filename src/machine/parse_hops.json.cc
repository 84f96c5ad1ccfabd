// The hops of a machine file. An entry stands for every ordered pair of different places that its
// patterns name; a later entry for the same pair replaces an earlier one.

#include <fmt/format.h>

#include <utility>

#include "machine/machine_reader.h"
#include "machine/pattern.h"

namespace polypath::machine {
namespace {

HopKind network_kind_of(const JsonField& field, const std::string& pair, const std::string& kind,
                        bool from_host, bool to_host) {
  if (from_host != to_host)
    field.reject(fmt::format("joins {} of another node", pair),
                 "over the network copies go from host to host or from GPU to GPU");
  if (kind == "network") return HopKind::network;
  if (kind == "network_staged" && !from_host) return HopKind::network_staged;
  field.reject(fmt::format("joins {} of another node as '{}'", pair, printable(kind)),
               "between nodes its kind is network, or network_staged from GPU to GPU");
}

}  // namespace

void HopReader::read(const JsonField& field) {
  field.allow_only({"from", "to", "absent", "kind", "latency", "bandwidth", "uses", "note"});
  field.check_note(kLongestSentence);
  const bool absent = field.has("absent") && field.at("absent").flag();
  Hop hop;
  if (!absent) hop.latency = quantities_.duration(field.at("latency"));
  if (!absent) hop.bandwidth = quantities_.rate(field.at("bandwidth"));
  const auto sources = places_at(machine_, field.at("from")),
             destinations = places_at(machine_, field.at("to"));
  const bool is_circle = sources.size() == 1 && sources == destinations;
  if (is_circle && field.at("from").text(kLongestName) == name(sources[0]))
    field.reject(fmt::format("joins {0} to {0}", name(sources[0])), "a copy there needs no path");
  for (const PlaceId from : sources) {
    for (const PlaceId to : destinations) {
      if (from == to) continue;
      if (++expansions_ > kMostExpansions)
        field.reject("stands for too many pairs", "all hops together may name 65536");
      hops_.erase({from, to});
      hop.source = from;
      hop.destination = to;
      if (!absent) add(field, hop);
    }
  }
}

void HopReader::finish() {
  for (auto& [pair, hop] : hops_) machine_.hops.push_back(std::move(hop));
}

void HopReader::add(const JsonField& field, Hop hop) {
  hop.kind = kind_of(field, hop);
  for (const JsonField& use : field.at("uses").elements(kMostUses))
    resources_.read_use(
        use,
        substitute(used_name(use), {{"{from}", name(hop.source)}, {"{to}", name(hop.destination)}}),
        hop.bandwidth, hop.uses);
  hops_.emplace(std::pair(hop.source, hop.destination), std::move(hop));
}

HopKind HopReader::kind_of(const JsonField& field, const Hop& hop) {
  const bool from_host = machine_.place(hop.source).kind == PlaceKind::host;
  const bool to_host = machine_.place(hop.destination).kind == PlaceKind::host;
  const std::string pair = fmt::format("{} to {}", name(hop.source), name(hop.destination));
  const std::string kind = field.has("kind") ? field.at("kind").text(kLongestName) : "";
  if (machine_.place(hop.source).node != machine_.place(hop.destination).node)
    return network_kind_of(field, pair, kind, from_host, to_host);
  if (from_host && to_host)
    field.reject(fmt::format("joins {}", pair), "a copy between hosts needs no GPU driver");
  const HopKind usual = from_host || to_host ? HopKind::host : HopKind::peer;
  if (!field.has("kind")) return usual;
  if (kind == "driver_staged" && usual == HopKind::peer) return HopKind::driver_staged;
  if (kind == "peer" && usual == HopKind::peer) return HopKind::peer;
  if (kind == "host" && usual == HopKind::host) return HopKind::host;
  field.at("kind").reject(fmt::format("is '{}' for {}", printable(kind), pair),
                          "between GPUs it is peer or driver_staged, to or from a host it is host");
}

}  // namespace polypath::machine
