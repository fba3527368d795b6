import type { AnyTask, Plan, StepContext } from './define-task.ts'
import { messagesOf, warning } from './messages.ts'
import type { RunnerLog } from './runner-options.ts'
import { type TaskEntity, withoutWork } from './task-row.ts'

interface DryRun {
  readonly changes: Record<string, unknown>
  readonly keep: Plan['keep']
}

export async function dryRunTask<D>(
  { extId, runner }: TaskEntity,
  definition: AnyTask<D>,
  input: unknown,
  context: StepContext<D>,
  log: RunnerLog,
): Promise<DryRun> {
  const { report, keep } = await planned(extId, definition, input, context, log)
  const changes = {
    ...report,
    runner: withoutWork(true, runner),
    startedTime: context.clock.iso(),
    completedTime: context.clock.iso(),
    isCancelable: false,
  }
  return { changes, keep }
}

async function planned<D>(
  extId: string,
  definition: AnyTask<D>,
  input: unknown,
  context: StepContext<D>,
  log: RunnerLog,
): Promise<{ readonly report: Record<string, unknown>; readonly keep?: Plan['keep'] }> {
  try {
    const plan = (await definition.plan?.(context, input)) ?? { changes: [] }
    return { report: reportOf(plan), keep: (plan.problems ?? []).length === 0 ? plan.keep : undefined }
  } catch (error) {
    const messages = messagesOf(error, extId, log)
    return { report: { status: 'FAILED', errorMessages: messages, legacyErrorMessage: messages[0]?.message } }
  }
}

function reportOf({ changes, warnings = [], problems = [] }: Plan): Record<string, unknown> {
  return {
    ...(problems.length > 0
      ? { status: 'FAILED', errorMessages: problems, legacyErrorMessage: problems[0]?.message }
      : { status: 'SUCCEEDED', progressPercentage: 100 }),
    completionDetails: [
      { name: 'dryRun', value: true },
      { name: 'changes', value: changes.slice(0, 50).map((change) => ({ map: { ...change } })) },
    ],
    warnings: warnings.map(warning),
  }
}
