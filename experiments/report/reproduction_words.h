#pragma once
// Words of DIR/reproduce.json (experiments/schemas/reproduce.schema.json) that are written in one
// place and read in others.

namespace cosched {

// "status" of a figure.
inline constexpr const char* kFigurePlanned = "planned";
inline constexpr const char* kFigureWhole = "whole";  // It ran, was drawn and judged.
inline constexpr const char* kFigureFailed = "failed";
inline constexpr const char* kFigureInterrupted = "interrupted";
inline constexpr const char* kNotSupported = "not supported here";  // Also a claim's verdict.

// Other verdicts of claims, as plots/claims.py makes them.
inline constexpr const char* kHolds = "holds";
inline constexpr const char* kDoesNotHold = "does not hold";

// "published" of a claim of which nothing was published: it is a target of our own.
inline constexpr const char* kNotPublished = "-";

// "seconds_from" of a plan.
inline constexpr const char* kTimeFromHere = "as it took here";
inline constexpr const char* kTimeFromArrivals = "at least, by its arrivals";
inline constexpr const char* kTimeNotKnown = "not known";  // Anything else names a machine.

}  // namespace cosched
