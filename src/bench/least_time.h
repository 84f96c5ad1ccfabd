#pragma once
// A lower bound of a split's time: the search (tune.h) skips splits that cannot win.
//
// A path that shares nothing with the others and is issued at once ends when the recursion of
// model/pipeline.h says; sharing and issue only delay its copies, each of which starts no earlier
// and takes no less. And no resource carries more than its capacity, once the first copy has been
// issued and its latency has passed.

#include <array>
#include <map>
#include <vector>

#include "core/settings.h"
#include "model/predict.h"

namespace polypath::bench {

/// Shares in whole per cent and chunk counts, per path; they identify a candidate.
struct Candidate {
  std::vector<int> percents;
  std::vector<int> chunks;
  auto operator<=>(const Candidate&) const = default;
};

class LeastTime {
 public:
  LeastTime(const Machine& machine, std::vector<Path> paths, Bytes bytes, Executor executor,
            const Settings& settings);

  /// Of one path with this share, for any chunks; grows with the share.
  [[nodiscard]] Seconds of_share(std::size_t path, int percent) const;
  /// Of one path with this share and chunk count beside others, at least one of them staged.
  Seconds of_path(std::size_t path, int percent, int chunks);
  /// Of the resources that the candidate, with a staged path, uses.
  [[nodiscard]] Seconds of_resources(const Candidate& candidate) const;
  /// Of all of it; nothing is claimed for the direct path alone.
  Seconds of(const Candidate& candidate);

 private:
  /// The least time before a byte reaches a resource, and after it has left.
  struct Span {
    Seconds before;
    Seconds after;
  };
  /// For how long a path's byte occupies all of a resource.
  struct Claim {
    ResourceId resource;
    double seconds_per_byte = 0;
    Span span;
  };

  void add_claims(const Path& path);
  void add_hop(HopId id, const Span& span);
  [[nodiscard]] Bytes carried(std::size_t path, int percent) const;
  [[nodiscard]] Seconds alone(std::size_t path, Bytes bytes, int chunks) const;

  const Machine& machine_;
  std::vector<Path> paths_;
  ResourceModel resources_;
  std::vector<std::vector<Claim>> claims_;
  Bytes bytes_;
  Settings settings_;
  Seconds calls_;  ///< before the first copy and after the last
  std::map<std::array<int, 3>, Seconds> known_;
};

}  // namespace polypath::bench
