"""A supervisor whose run is stopped once it has begun and before its command is started."""

from tui_tasks import clock
from tui_tasks.core.operations.jobs import StopRun
from tui_tasks.core.store import Store
from tui_tasks.runner.run_supervisor import main
from tui_tasks.runner.supervisor_launch import Assignment


def stop(_: Store, assignment: Assignment) -> None:
    with Store(assignment.database) as store:
        store.commit(StopRun(assignment.run_uid), actor="human", now=clock.now())


if __name__ == "__main__":
    main(stop)
