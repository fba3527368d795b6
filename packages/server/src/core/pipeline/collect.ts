import type { AnyHandler, AnyPrepare, AnyRule, Computed, Domain, Presenter } from '../handlers.ts'
import type { AnyTask } from '../tasks/define-task.ts'
import type { Schedule } from '../time/schedules.ts'

export interface Collected<D> {
  readonly handlers: ReadonlyMap<string, AnyHandler>
  readonly rules: ReadonlyMap<string, AnyRule>
  readonly prepares: ReadonlyMap<string, AnyPrepare>
  readonly presenters: ReadonlyMap<string, readonly Presenter<D>[]>
  readonly computed: ReadonlyMap<string, Computed<D>>
  readonly tasks: ReadonlyMap<string, AnyTask<D>>
  readonly schedules: readonly Schedule<D>[]
}

/** @throws Error when two task definitions have the same name */
export function collect<D>(declared: Iterable<readonly [prefix: string, domain: Domain<D>]>): Collected<D> {
  const handlers = new Map<string, AnyHandler>()
  const rules = new Map<string, AnyRule>()
  const prepares = new Map<string, AnyPrepare>()
  const presenters = new Map<string, readonly Presenter<D>[]>()
  const computed = new Map<string, Computed<D>>()
  const tasks = new Map<string, AnyTask<D>>()
  const schedules: Schedule<D>[] = []
  for (const [prefix, domain] of declared) {
    for (const [id, handler] of Object.entries(domain.handlers)) handlers.set(`${prefix}.${id}`, handler)
    for (const [id, rule] of Object.entries(domain.rules)) rules.set(`${prefix}.${id}`, rule)
    for (const [id, prepare] of Object.entries(domain.prepares)) prepares.set(`${prefix}.${id}`, prepare)
    for (const [{ kind }, presenter] of domain.presenters)
      presenters.set(kind, [...(presenters.get(kind) ?? []), presenter])
    for (const [{ kind }, find] of domain.computed) computed.set(kind, find)
    for (const task of domain.tasks) {
      if (tasks.has(task.name)) throw new Error(`two task definitions are called ${task.name}`)
      tasks.set(task.name, task)
    }
    schedules.push(...domain.schedules)
  }
  return { handlers, rules, prepares, presenters, computed, tasks, schedules }
}
