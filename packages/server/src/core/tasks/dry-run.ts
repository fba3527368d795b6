import type { AnyTask, StepContext } from './define-task.ts'
import { messagesOf, warning } from './messages.ts'
import type { RunnerLog } from './runner-options.ts'
import { type TaskEntity, withoutWork } from './task-row.ts'

export async function dryRunTask<D>(
  { extId, runner }: TaskEntity,
  definition: AnyTask<D>,
  input: unknown,
  context: StepContext<D>,
  log: RunnerLog,
): Promise<Record<string, unknown>> {
  let report: Record<string, unknown>
  try {
    report = await reportOf(definition, input, context)
  } catch (error) {
    const messages = messagesOf(error, extId, log)
    report = { status: 'FAILED', errorMessages: messages, legacyErrorMessage: messages[0]?.message }
  }
  return {
    ...report,
    runner: withoutWork(true, runner),
    startedTime: context.clock.iso(),
    completedTime: context.clock.iso(),
    isCancelable: false,
  }
}

async function reportOf<D>(
  definition: AnyTask<D>,
  input: unknown,
  context: StepContext<D>,
): Promise<Record<string, unknown>> {
  const { changes, warnings = [], problems = [] } = (await definition.plan?.(context, input)) ?? { changes: [] }
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
