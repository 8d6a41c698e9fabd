#include "knowledge/ledger.h"

#include <fmt/format.h>

#include <unordered_map>

#include "core/clock.h"
#include "core/log.h"
#include "knowledge/event_writer_impl.h"
#include "knowledge/fact_rows_impl.h"
#include "knowledge/rows_impl.h"
#include "knowledge/snapshot_impl.h"
#include "knowledge/storage/file_system.h"
#include "knowledge/studies.h"
#include "knowledge/writable_database_impl.h"

namespace detol::inline knowledge {
namespace {

namespace fs = std::filesystem;

class SqliteLedger final : public Ledger {
 public:
  SqliteLedger(WritableDatabase writing, EventWriter writer, Snapshots snapshots)
      : writing_(std::move(writing)),
        writer_(std::move(writer)),
        snapshots_(std::move(snapshots)) {}

  Result<StudyId> create_study(const StudyRecord& record) override {
    return writing_.pages().run([&] { return create_locked(record); });
  }
  Result<void> append(StudyId id, std::span<const Event> events,
                      std::span<const Fact> facts) override {
    return writing_.pages().run([&] { return append_once(id, events, facts); });
  }
  Result<void> record_facts(std::span<const Fact> facts) override {
    return writing_.pages().run([&] {
      return writing_.in_transaction([&] { return write_facts(writing_.database(), facts); });
    });
  }
  bool may_retry() const override { return writing_.may_retry(); }

  Result<StudyRecord> study(const std::string& name) override {
    DETOL_ASSIGN(Study found,
                 writing_.pages().run([&] { return find_study(writing_.database(), name); }));
    return std::move(found.record);
  }
  Result<StudyRecord> open_study(const std::string& name) override {
    DETOL_ASSIGN(const Study found,
                 writing_.pages().run([&] { return find_study(writing_.database(), name); }));
    return writing_.pages()
        .run([&] { return locked(found.record.id); })
        .map([](const Study* study) { return study->record; });
  }
  Result<std::optional<KnownTrial>> known_trial(const std::string& identity, StudyId except,
                                                std::optional<int> ranks) override {
    return writing_.pages().run(
        [&] { return find_known_trial(writing_.database(), identity, except, ranks); });
  }
  Result<std::vector<StudyRecord>> studies() override {
    DETOL_ASSIGN(auto all, writing_.pages().run([&] { return read_studies(writing_.database()); }));
    std::vector<StudyRecord> records;
    for (Study& study : all) records.push_back(std::move(study.record));
    return records;
  }
  Result<std::vector<event::Source::Trial>> outcomes(StudyId id) override {
    return writing_.pages().run([&] { return read_outcomes(writing_.database(), id); });
  }
  Result<std::vector<Fact>> facts(const std::string& kind) override {
    return writing_.pages().run([&] { return read_facts(writing_.database(), kind); });
  }
  Result<std::optional<Fact>> fact(const std::string& kind, const std::string& key) override {
    return writing_.pages().run([&] { return find_fact(writing_.database(), kind, key); });
  }
  Result<std::vector<Event>> events(StudyId id) override {
    return writing_.pages().run([&] { return read_events(writing_.database(), id); });
  }

 private:
  Result<StudyId> create_locked(const StudyRecord& record);
  Result<void> append_once(StudyId id, std::span<const Event> events, std::span<const Fact> facts);
  Result<Study*> locked(StudyId id);
  void announce(const StudyRecord& record);

  WritableDatabase writing_;
  EventWriter writer_;
  Snapshots snapshots_;
  // Locked: a study that this process has locked, so that only it changes the study.
  struct Locked {
    Study study;            // as committed
    std::string announced;  // its name while it runs, as written to the lock's file
  };
  std::unordered_map<StudyId, Locked> studies_;
};

// The number and the name are chosen inside the transaction, as another process may create a study
// at the same time.
Result<StudyId> SqliteLedger::create_locked(const StudyRecord& record) {
  DETOL_TRY(check_new_name(record.name));
  Study study{.record = record};
  const auto done = writing_.in_transaction([&]() -> Result<void> {
    DETOL_ASSIGN(const auto known, study_named(writing_.database(), record.name));
    if (known) {
      return fail(ErrorCode::kStudy,
                  fmt::format("study '{0}' exists; `detol resume {0}` continues it", record.name));
    }
    DETOL_ASSIGN(study.record.id, next_study_id(writing_.database()));
    DETOL_TRY(writing_.lock_new_study(study.record.id, record.name));
    return writer_.create(study);
  });
  const StudyId id = study.record.id;
  if (!done) {
    writing_.unlock_study(id);
    return tl::unexpected(done.error());
  }
  studies_.insert_or_assign(id, Locked{std::move(study), record.name});
  return id;
}

Result<void> SqliteLedger::append_once(StudyId id, std::span<const Event> events,
                                       std::span<const Fact> facts) {
  DETOL_ASSIGN(Study* const committed, locked(id));
  Study study = *committed;
  auto done = writing_.in_transaction(id, [&]() -> Result<void> {
    for (const Event& event : events) DETOL_TRY(writer_.add(study, event));
    DETOL_TRY(write_facts(writing_.database(), facts));
    return writer_.save(study);
  });
  if (!done) return done;
  announce(study.record);
  snapshots_.update(writing_.pages());
  *committed = std::move(study);
  return {};
}

void SqliteLedger::announce(const StudyRecord& record) {
  const std::string running = record.state == StudyPhase::kRunning ? record.name : "";
  std::string& announced = studies_.at(record.id).announced;
  if (running == announced) return;
  writing_.lock().announce(record.id, running);
  announced = running;
  snapshots_.request();
}

// Locks a study and reads it: until now another process may have appended to it.
Result<Study*> SqliteLedger::locked(StudyId id) {
  if (const auto known = studies_.find(id); known != studies_.end()) return &known->second.study;
  DETOL_ASSIGN(const Study before, find_study(writing_.database(), id));
  DETOL_TRY(writing_.lock_study(id, before.record.name));
  DETOL_ASSIGN(Study study, find_study(writing_.database(), id));
  const std::string announced = study.record.name;
  return &studies_.insert_or_assign(id, Locked{std::move(study), announced}).first->second.study;
}

}  // namespace

Result<std::unique_ptr<Ledger>> Ledger::open(const fs::path& path) {
  const fs::path real = real_path(path);
  DETOL_ASSIGN(WritableDatabase writing, WritableDatabase::open(real, Access::kShared));
  DETOL_ASSIGN(EventWriter writer,
               writing.pages().run([&] { return EventWriter::make(writing.database()); }));
  Snapshots snapshots(real, system_clock());
  if (is_on_network(real)) {
    log_info(
        "{} is on a network file system: until the end only this process can open it; "
        "others read {}, a copy at most a minute old (docs/knowledge-base.md)",
        real.string(), snapshot_of(real).string());
  }
  return std::make_unique<SqliteLedger>(std::move(writing), std::move(writer),
                                        std::move(snapshots));
}

}  // namespace detol::inline knowledge
