#include "collective/internode/internode_pipeline.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/ignore_errors.h"

namespace polypath::collective {
namespace {

int slot_of(int step, int piece) { return 2 * step + piece % 2; }
std::size_t event_of(int piece) { return static_cast<std::size_t>(piece % NodeRank::kPieces); }

}  // namespace

InternodePipeline::InternodePipeline(Driver& driver, PlaceId gpu, PieceExchange& exchange)
    : driver_(driver), exchange_(exchange), network_(driver.create_stream(gpu)) {
  for (EventHandle& event : before_) event = driver.create_event(gpu);
  for (EventHandle& event : between_) event = driver.create_event(gpu);
  end_ = driver.create_event(gpu), network_end_ = driver.create_event(gpu);
}

void InternodePipeline::close() {
  ignore_errors([&] { driver_.destroy_stream(network_); });
  for (const EventHandle event : before_) ignore_errors([&] { driver_.destroy_event(event); });
  for (const EventHandle event : between_) ignore_errors([&] { driver_.destroy_event(event); });
  for (const EventHandle event : {end_, network_end_})
    ignore_errors([&] { driver_.destroy_event(event); });
}

void InternodePipeline::mark_end(StreamHandle stream) {
  ignore_errors([&] { driver_.record(network_end_, network_); });
  if (ignore_errors([&] { driver_.record(end_, stream); })) last_stream_ = stream;
}

void InternodePipeline::issue(InternodeSchedule& call, StreamHandle stream) {
  if (last_stream_ && *last_stream_ != stream) driver_.wait(stream, end_);
  Steps steps{
      [&](int piece) { call.before(piece), driver_.record(before_[event_of(piece)], stream); }};
  std::ranges::move(network_steps(call), std::back_inserter(steps));
  steps.emplace_back([&](int piece) {
    driver_.wait(stream, between_[event_of(piece)]);
    call.after(piece);
  });
  pipeline(call.pieces(), steps);
  driver_.record(network_end_, network_);
  driver_.record(end_, stream);
  last_stream_ = stream;
}

InternodePipeline::Steps InternodePipeline::network_steps(InternodeSchedule& call) {
  Steps steps{[this, &call](int piece) { send_first(call, piece); },
              [this, &call](int piece) { go_on(call, piece); }};
  if (call.has_second()) steps.emplace_back([this](int piece) { end_second(piece); });
  if (!exchange_.is_in_stream()) return steps;
  return {[all = std::move(steps)](int piece) {
    for (const auto& step : all) step(piece);
  }};
}

void InternodePipeline::send_first(InternodeSchedule& call, int piece) {
  driver_.wait(network_, before_[event_of(piece)]);
  exchange_.start(slot_of(0, piece), call.first(piece), network_);
}

void InternodePipeline::go_on(InternodeSchedule& call, int piece) {
  exchange_.finish(slot_of(0, piece), network_);
  call.reduce(piece);
  if (call.has_second()) exchange_.start(slot_of(1, piece), call.second(piece), network_);
  else driver_.record(between_[event_of(piece)], network_);
}

void InternodePipeline::end_second(int piece) {
  exchange_.finish(slot_of(1, piece), network_);
  driver_.record(between_[event_of(piece)], network_);
}

}  // namespace polypath::collective
