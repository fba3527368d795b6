/** Everything that the domains declare, by the keys of the contract. */
import type { Handler, Prepare, Presenter, Rule } from '../core/handlers.ts'
import type { TaskDefinition } from '../core/tasks/define-task.ts'
import type { Schedule } from '../core/time/schedules.ts'
import type { Drivers } from '../drivers/drivers.ts'
import { domains } from './index.ts'

export function collectDomains(): {
  handlers: ReadonlyMap<string, Handler<Drivers, any>>
  rules: ReadonlyMap<string, Rule<any>>
  prepares: ReadonlyMap<string, Prepare<Drivers, any>>
  presenters: ReadonlyMap<string, readonly Presenter<Drivers>[]>
  tasks: ReadonlyMap<string, TaskDefinition<Drivers, any>>
  schedules: readonly Schedule<Drivers>[]
} {
  const handlers = new Map<string, Handler<Drivers, any>>()
  const rules = new Map<string, Rule<any>>()
  const prepares = new Map<string, Prepare<Drivers, any>>()
  const presenters = new Map<string, Presenter<Drivers>[]>()
  const tasks = new Map<string, TaskDefinition<Drivers, any>>()
  const schedules: Schedule<Drivers>[] = []
  for (const [prefix, kinds] of Object.entries(domains)) {
    for (const domain of Object.values(kinds)) {
      for (const [id, handler] of Object.entries(domain.handlers)) handlers.set(`${prefix}.${id}`, handler)
      for (const [id, rule] of Object.entries(domain.rules)) rules.set(`${prefix}.${id}`, rule)
      for (const [id, prepare] of Object.entries(domain.prepares)) prepares.set(`${prefix}.${id}`, prepare)
      for (const [resource, presenter] of domain.presenters) {
        presenters.set(resource.kind, [...(presenters.get(resource.kind) ?? []), presenter])
      }
      for (const task of domain.tasks) {
        if (tasks.has(task.name)) throw new Error(`two task definitions are called ${task.name}`)
        tasks.set(task.name, task)
      }
      schedules.push(...domain.schedules)
    }
  }
  return { handlers, rules, prepares, presenters, tasks, schedules }
}
