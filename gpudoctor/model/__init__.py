"""Every noun of gpudoctor, and how facts and tables are asked: standard library only, no input or output.

Facts describe a machine; a `Snapshot` holds them; `Rule` pages judge them; a `Report` says what was found.
"""

from gpudoctor.model.course import Course, Skip
from gpudoctor.model.recommendation import (
    Candidate, CardSummary, Change, Fit, Ground, Hint, LastStack, Member, Recommendation, Rejection, Unserved,
)
from gpudoctor.model.report import Evidence, Finding, Judgement, Remedy, Report, Undecided, Verdict
from gpudoctor.model.rules import (
    Ask, Case, Certainty, Comparison, Condition, Detect, Effect, Fix, FixKind, Operand, Operator, Risk, Rule,
    RuleDatabase, Scope, Severity, Source, Suspect, SymptomExample, SymptomPattern, WordIndex,
)
from gpudoctor.model.snapshot import (
    Absent, Fact, Facts, Known, ProbeRun, Record, Scalar, Snapshot, Unknown, Value, value_of,
)
from gpudoctor.model.subject import Subject, Subjects
from gpudoctor.model.tables import Row, Table, Tables, row_of, rows_of

__all__ = [
    "Absent", "Ask", "Candidate", "CardSummary", "Case", "Certainty", "Change", "Comparison", "Condition",
    "Course", "Detect", "Effect", "Evidence", "Fact", "Facts", "Finding", "Fit", "Fix", "FixKind", "Ground",
    "Hint", "Judgement", "Known", "LastStack", "Member", "Operand", "Operator", "ProbeRun",
    "Recommendation", "Record", "Rejection", "Remedy", "Report", "Risk", "Row", "Rule", "RuleDatabase",
    "Scalar", "Scope", "Severity", "Skip", "Snapshot", "Source", "Subject", "Subjects", "Suspect",
    "SymptomExample", "SymptomPattern", "Table", "Tables", "Undecided", "Unknown", "Unserved", "Value",
    "Verdict", "WordIndex", "row_of", "rows_of", "value_of",
]
