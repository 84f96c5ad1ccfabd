#pragma once
// Recent outcomes of copies that were left to the driver, so that the next similar copy costs fewer
// questions, or none. To find all of it out anew takes a dozen questions to the driver: 64 MiB both
// ways at once took 193 to 194 us between two H200s with them and 185 to 191 without, natively 184
// to 190 (results/h200x2/ledger.json).
//
// The program may have freed the memory since and have other memory there, or another stream of
// that number. That is harmless: the driver's own copy is right all the same.

#include <memory>
#include <mutex>
#include <optional>

#include "api/preload/outcome.h"
#include "api/preload/program_copy.h"
#include "core/brief_mutex.h"
#include "engine/call/copy_call.h"
#include "engine/call/recent_copies.h"

namespace polypath::preload {

/// Thread-safe.
class RecentOutcomes {
 public:
  /// The call to ask the engine about, because concurrent transfers made the copy native.
  struct EngineCall {
    CopyCall call;
    cuda::ContextPointer context;  ///< of a default stream; else null
  };
  struct Recent {
    Outcome outcome = Outcome::native;
    std::shared_ptr<const EngineCall> call =
        nullptr;                          ///< null: independent of concurrent transfers
    Seconds until = Seconds::infinity();  ///< not from then on
    int found = 0;                        ///< so often, if it is not for ever
    int most = 0;                         ///< and it is so no more often, if not for ever
    bool goes_first = false;              ///< is made before it is asked about, once it is over

    /// True of an outcome that is not remembered for ever, at that time or found so often.
    template <class Now>
    [[nodiscard]] bool is_over(const Now& now) const {
      return until < Seconds::infinity() && (found >= most || until <= now());
    }
  };

  /// The outcome of the last copy like this one; none if it is not remembered. Counts as a use,
  /// unless that ends at some time anyway.
  [[nodiscard]] std::optional<Recent> find(const ProgramCopy& copy) {
    const std::scoped_lock lock(mutex_);
    Recent* const for_a_while = recent_.peek(in_any_stream(copy));
    if (for_a_while != nullptr && for_a_while->until < Seconds::infinity()) {
      ++for_a_while->found;
      return *for_a_while;
    }
    for (const Likeness& likeness : {in_any_stream(copy), in_its_stream(copy)})
      if (const Recent* found = recent_.find(likeness)) return *found;
    return std::nullopt;
  }

  /// True if the driver is to make the next copy like this one without a question. It does not
  /// count as a use.
  template <class Now>
  [[nodiscard]] bool goes_first(const ProgramCopy& copy, const Now& now) {
    const std::scoped_lock lock(mutex_);
    const Recent* found = recent_.peek(in_any_stream(copy));
    if (found == nullptr) found = recent_.peek(in_its_stream(copy));
    if (found == nullptr || found->call != nullptr) return false;
    if (found->goes_first) return true;
    const Recent next{.until = found->until, .found = found->found + 1, .most = found->most};
    return !next.is_over(now);
  }

  /// It will be so again, in any stream.
  void remember(const ProgramCopy& copy, Outcome outcome) {
    const std::scoped_lock lock(mutex_);
    recent_.remember(in_any_stream(copy), {.outcome = outcome});
  }
  /// The same, until then, and `most` times at most.
  void remember_for_a_while(const ProgramCopy& copy, Outcome outcome, Seconds until, int most,
                            bool goes_first = false) {
    const std::scoped_lock lock(mutex_);
    recent_.remember(in_any_stream(copy),
                     {.outcome = outcome, .until = until, .most = most, .goes_first = goes_first});
  }
  /// Forgets what was to be remembered until some time.
  void end(const ProgramCopy& copy) {
    const std::scoped_lock lock(mutex_);
    recent_.forget(in_any_stream(copy));
  }
  /// The outcome was due to concurrent transfers.
  void remember(const ProgramCopy& copy, EngineCall call) {
    auto pointer = std::make_shared<const EngineCall>(std::move(call));
    const std::scoped_lock lock(mutex_);
    recent_.remember(in_its_stream(copy), {.call = std::move(pointer)});
  }

 private:
  struct Likeness {
    std::uint64_t source_page = 0;
    std::uint64_t destination_page = 0;
    Bytes bytes;
    std::uintptr_t stream = 0;

    bool operator==(const Likeness&) const = default;
    [[nodiscard]] std::uint64_t hash() const {
      return ((source_page * 31 + destination_page) * 31 + bytes.value) * 31 + stream;
    }
  };
  static constexpr std::uintptr_t kAnyStream = ~std::uintptr_t{0};

  static Likeness in_any_stream(const ProgramCopy& copy) {
    return {page_of(copy.source), page_of(copy.destination), copy.bytes, kAnyStream};
  }
  static Likeness in_its_stream(const ProgramCopy& copy) {
    Likeness likeness = in_any_stream(copy);
    likeness.stream = reinterpret_cast<std::uintptr_t>(copy.stream);
    return likeness;
  }

  BriefMutex mutex_;
  RecentCopies<Likeness, Recent, 512> recent_;
};

}  // namespace polypath::preload
