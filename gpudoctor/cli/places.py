"""Where a pre-flight runs, by what the place says of itself, and in which words that place wants the report.

Sources, all 2026-11-23: https://docs.github.com/en/actions/reference/workflows-and-actions/variables,
https://docs.gitlab.com/ci/variables/predefined_variables/ and
https://www.jenkins.io/doc/book/pipeline/jenkinsfile/#using-environment-variables.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpudoctor.frozen import frozen

JUNIT_FILE = "gpudoctor-preflight.xml"


@frozen
class Place:
    """How a report is printed; which file is appended to in Markdown, and which is written in JUnit XML."""

    format: str = "text"
    summary: str | None = None
    tests: str | None = None


def place_of(variables: Mapping[str, str]) -> Place:
    """Return the place that environment variables tell of; anything unknown reads text."""
    if variables.get("GITHUB_ACTIONS") == "true":  # Gitea and Forgejo say so too, and read the same commands
        return Place(format="github", summary=variables.get("GITHUB_STEP_SUMMARY") or None)
    if variables.get("GITLAB_CI") == "true" or variables.get("JENKINS_URL"):
        return Place(tests=JUNIT_FILE)
    return Place()
