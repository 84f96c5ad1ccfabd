#include "api/preload/session_imports.h"

#include "core/error.h"
#include "core/ignore_errors.h"
#include "core/log.h"

namespace polypath::preload {

SessionImports::SessionImports(const Machine& machine, cuda::CudaDriver& driver,
                               SessionStreams& streams, bool in_background)
    : machine_(machine),
      driver_(driver),
      streams_(streams),
      background_(in_background ? std::make_unique<Background>() : nullptr) {}

void SessionImports::stop() noexcept {
  if (background_) background_->stop();
}

std::optional<Outcome> SessionImports::look_at(const ProgramQuestion& question) {
  if (!question.ends.imported() || !question.decision.plan) return std::nullopt;
  try {
    const Missing missing = missing_for(question);
    if (missing.empty()) return std::nullopt;
    if (background_) return map_in_background(missing);
    for (const auto& [address, context] : missing) (void)driver_.imports().reach(address, context);
    return std::nullopt;
  } catch (const Error& error) {
    log(LogLevel::warning, error.what());
    return Outcome::unmappable;
  }
}

SessionImports::Missing SessionImports::missing_for(const ProgramQuestion& question) {
  const auto& [asked, stream_gpu, ends, decision] = question;
  Missing missing;
  for (const PathShape& part : decision.plan->shape.paths) {
    const bool in_program_stream = !part.path.staged() && !ends.between_gpus();
    if (in_program_stream) continue;
    add_missing(ends.source, asked.source, part.path.first, missing);
    add_missing(ends.destination, asked.destination,
                part.path.staged() ? part.path.second : part.path.first, missing);
  }
  return missing;
}

void SessionImports::add_missing(const ProgramEnd& end, Address address, HopId hop,
                                 Missing& missing) {
  if (!end.imported) return;
  const int gpu = streams_.number_of(machine_.executing_gpu(hop));
  // A context that is not there yet is made with the rest of what the plan
  // needs.
  if (background_ && !driver_.contexts().has(gpu)) return;
  const cuda::ContextPointer context = driver_.contexts().ours(gpu);
  if (!driver_.imports().is_reached(address, context)) missing.emplace_back(address, context);
}

Outcome SessionImports::map_in_background(const Missing& missing) {
  for (const auto& one : missing) {
    const std::scoped_lock lock(mutex_);
    if (!mapping_.insert(one).second) continue;
    background_->post([this, one] {
      ignore_errors([&] { (void)driver_.imports().reach(one.first, one.second); });
      const std::scoped_lock done(mutex_);
      mapping_.erase(one);
    });
  }
  return Outcome::preparing;
}

}  // namespace polypath::preload
