/** Inputs and outputs of steps may hold secrets. */
import type { TaskEntity } from './task-row.ts'

export const sealedInTask = ['input', 'outputs'] as const

export const aboutTask = (extId: string, field: (typeof sealedInTask)[number]): string => `task/${extId}/${field}`

export interface TaskSeals {
  readonly seal: (plain: string, about: string) => string
  readonly open: (sealed: string, about: string) => string
}

export const sealedInput = (seals: TaskSeals, extId: string, input: unknown): string =>
  seals.seal(JSON.stringify(input ?? null), aboutTask(extId, 'input'))

export const inputOf = (seals: TaskSeals, { extId, runner }: TaskEntity): unknown =>
  JSON.parse(seals.open(runner.input, aboutTask(extId, 'input')))

export const outputsOf = (seals: TaskSeals, { extId, runner: { outputs } }: TaskEntity): Record<string, unknown> =>
  outputs === undefined ? {} : JSON.parse(seals.open(outputs, aboutTask(extId, 'outputs')))

export function sealedOutputs(seals: TaskSeals, task: TaskEntity, step: string, output: unknown): string {
  const outputs = JSON.stringify({ ...outputsOf(seals, task), [step]: output })
  return seals.seal(outputs, aboutTask(task.extId, 'outputs'))
}
