#pragma once

// The factories behind the rows of searchers(), one per file of this folder.

#include <memory>

#include "search/searcher.h"

namespace detol::inline search {

Result<std::unique_ptr<Searcher>> make_random(const Space& space, const SearcherSettings& settings);
Result<std::unique_ptr<Searcher>> make_sobol(const Space& space, const SearcherSettings& settings);
Result<std::unique_ptr<Searcher>> make_design(const Space& space, const SearcherSettings& settings);
Result<std::unique_ptr<Searcher>> make_evolution(const Space& space,
                                                 const SearcherSettings& settings);
Result<std::unique_ptr<Searcher>> make_genetic(const Space& space,
                                               const SearcherSettings& settings);
Result<std::unique_ptr<Searcher>> make_nsga2(const Space& space, const SearcherSettings& settings);
Result<std::unique_ptr<Searcher>> make_local(const Space& space, const SearcherSettings& settings);
Result<std::unique_ptr<Searcher>> make_tpe(const Space& space, const SearcherSettings& settings);
Result<std::unique_ptr<Searcher>> make_reinforce(const Space& space,
                                                 const SearcherSettings& settings);
Result<std::unique_ptr<Searcher>> make_qlearning(const Space& space,
                                                 const SearcherSettings& settings);
Result<std::unique_ptr<Searcher>> make_cgp(const Space& space, const SearcherSettings& settings);
Result<std::unique_ptr<Searcher>> make_gp(const Space& space, const SearcherSettings& settings);
Result<std::unique_ptr<Searcher>> make_portfolio(const Space& space,
                                                 const SearcherSettings& settings);

// Makes a portfolio whose members are rows of this table.
Result<std::unique_ptr<Searcher>> make_portfolio_of(std::span<const SearcherRow> table,
                                                    const Space& space,
                                                    const SearcherSettings& settings);

}  // namespace detol::inline search
