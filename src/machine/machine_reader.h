#pragma once
// The reader of machine files, one function per kind of entry. Internal to src/machine, and like
// json_reader.json.h only for *.json.cc files.

#include <array>
#include <map>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/json_reader.json.h"
#include "machine/driver_fields.h"
#include "machine/machine.h"

namespace polypath {

// Far above any real machine, low enough that a hostile file costs milliseconds.
inline constexpr std::size_t kMostEntries = 4096;
inline constexpr std::size_t kMostExpansions = 65536;
inline constexpr std::size_t kMostUses = 32;
inline constexpr std::size_t kLongestName = 192;
inline constexpr std::size_t kLongestSentence = 4096;

struct Unit {
  std::string_view name;
  double factor;
};

/// The units of sizes.
inline constexpr std::array kSizes = {Unit{"B", 1}, Unit{"KiB", 1024}, Unit{"MiB", 1048576.0},
                                      Unit{"GiB", 1073741824.0}};

/// The resource that an element of "uses" names, as it stands there.
std::string used_name(const JsonField& use);

class MachineReader {
 public:
  /// With `nominal`, quantities that say what they were before they were measured have that value.
  explicit MachineReader(const JsonField& file, bool nominal = false)
      : file_(file), nominal_(nominal) {}
  Machine read();
  /// True if any quantity had said so.
  [[nodiscard]] bool has_nominal() const { return has_nominal_; }

 private:
  // parse.json.cc
  void read_head();
  void read_place(const JsonField& field);
  void read_latencies(const JsonField& field, Place& place);
  void add_places(const JsonField& field, Place place, bool numbered);
  void read_resource(const JsonField& field);
  Burst burst(const JsonField& field, const Resource& resource);
  void add_resource(const JsonField& field, const Resource& resource);
  void read_costs(const JsonField& field);
  // A quantity such as {"value": 393, "unit": "GB/s", "source": "nvlink"}, in SI units.
  double quantity(const JsonField& field, const char* what, std::span<const Unit> units,
                  bool nominal);
  // With `nominal`, what it was before it was measured, as with the reader's own.
  Seconds duration(const JsonField& field, bool nominal = false);
  BytesPerSecond rate(const JsonField& field);
  Bytes size(const JsonField& field);

  // parse_driver.json.cc
  void read_driver(const JsonField& field);
  double driver_value(const JsonField& field, const DriverField& known);

  // parse_network.json.cc
  void read_network(const JsonField& field);
  void read_end(const JsonField& field);
  std::vector<Use> read_uses(const JsonField& field, PlaceId place);

  // parse_hops.json.cc
  void read_hop_entry(const JsonField& field);
  void add_hop(const JsonField& field, Hop hop);
  HopKind kind_of(const JsonField& field, const Hop& hop);
  void read_use(const JsonField& field, const std::string& named_as, BytesPerSecond bandwidth,
                std::vector<Use>& uses);
  ResourceId resource_at(const JsonField& field, const std::string& wanted,
                         const std::vector<Use>& uses);
  std::vector<PlaceId> places_at(const JsonField& field) const;
  const std::string& name(PlaceId id) { return machine_.place(id).name; }

  const JsonField& file_;
  bool nominal_;
  bool has_nominal_ = false;
  Machine machine_;
  std::set<std::string> sources_;
  std::unordered_map<std::string, ResourceId> resources_;
  std::map<std::pair<PlaceId, PlaceId>, Hop> hops_;
  std::size_t expansions_ = 0;
};

}  // namespace polypath
