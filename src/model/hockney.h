#pragma once
// The papers' model of one path, as they state it ("001" is Sojoodi et al., SC Workshops 2025).
//
// A path carries b = θ·n bytes. Its first leg has latency α and bandwidth β; a staged path has a
// second leg α', β' and a synchronisation cost ε at the staging place.
//
//   direct      T = α + b/β                                                        (001 eq. 1)
//   staged      T = α + b/β + ε + α' + b/β'                                        (001 eq. 2)
//   pipelined   T = k(α + b/kβ) + ε + α' + b/kβ'        if β < β'  (first leg slower)
//               T = α + b/kβ + k(ε + α' + b/kβ')        otherwise                  (001 eq. 13)
//   best k      k = √(b/αβ')   or   k = √(b/β(ε+α'))                               (001 eq. 14, 15)
//   linear k    k = φ·b/αβ'    or   k = φ·b/β(ε+α')                                (001 eq. 19)
//   so that     T = b·Ω + Δ                                                        (001 eq. 20-22)
//   shares      θᵢ = (1/Ωᵢ)/Σ(1/Ωⱼ) · (1 − Δᵢ/n·Σ(1/Ωⱼ) + (1/n)·Σ(Δⱼ/Ωⱼ))          (001 eq. 11, 24)
//
// The planner does not use the last two: it knows the exact pipeline (pipeline.h) and contention
// (share_problem.h). They are here to be compared with, and as the answer without contention.

#include <optional>
#include <span>
#include <vector>

#include "core/units.h"

namespace polypath {

/// One copy of a path: α and β.
struct Leg {
  Seconds latency;
  BytesPerSecond bandwidth;
};

/// A path for the papers' equations: one leg, or two with a staging cost ε between them.
struct HockneyPath {
  Leg first;
  std::optional<Leg> second;
  Seconds staging;
};

/// T = b·slope + offset: Ω (seconds per byte) and Δ of 001 eq. 21.
struct LinearTime {
  double slope = 0;
  Seconds offset;
};

/// 001 eq. 1 or 2: all bytes of a leg in one copy.
Seconds unpipelined_time(const HockneyPath& path, Bytes bytes);

/// 001 eq. 13: `chunks` >= 1 equal chunks. A direct path takes eq. 1 whatever `chunks` is.
Seconds pipelined_time(const HockneyPath& path, Bytes bytes, double chunks);

/// 001 eq. 14 or 15, not rounded, at least 1; 1 for a direct path.
double best_chunk_count(const HockneyPath& path, Bytes bytes);

/// The constant φ of 001 eq. 19 that makes the linear chunk count exact at `reference` bytes; the
/// paper leaves its computation out.
double topology_constant(const HockneyPath& path, Bytes reference);

/// 001 eq. 19, not rounded, at least 1.
double linear_chunk_count(const HockneyPath& path, Bytes bytes, double phi);

/// 001 eq. 20-22, with `previous` added to Δ: the α of paths started earlier (algorithm 1).
LinearTime linear_time(const HockneyPath& path, double phi, Seconds previous = {});

/// 001 eq. 24: shares that add up to 1. A share that would be negative is set to zero and the
/// others solved again, as the paper excludes paths.
std::vector<double> closed_form_shares(std::span<const LinearTime> paths, Bytes bytes);

}  // namespace polypath
