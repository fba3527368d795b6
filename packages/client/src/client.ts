import { type AnswerOf, contract, type DeclaredOperations } from '@hyperplane/contract'
import type { clustermgmt } from '@hyperplane/contract/clustermgmt'
import type { iam } from '@hyperplane/contract/iam'
import type { networking } from '@hyperplane/contract/networking'
import type { platform } from '@hyperplane/contract/platform'
import type { Task } from '@hyperplane/contract/platform/task'
import type { storage } from '@hyperplane/contract/storage'
import type { vmm } from '@hyperplane/contract/vmm'
import type { volumes } from '@hyperplane/contract/volumes'
import {
  type Answer,
  byKey,
  type Call,
  type ClientOptions,
  createCall,
  type Methods,
  methodsOf,
  type StartedTask,
} from './calls.ts'

export interface Client {
  readonly clustermgmt: Methods<DeclaredOperations<typeof clustermgmt>>
  readonly iam: Methods<DeclaredOperations<typeof iam>>
  readonly networking: Methods<DeclaredOperations<typeof networking>>
  readonly platform: Methods<DeclaredOperations<typeof platform>>
  readonly storage: Methods<DeclaredOperations<typeof storage>>
  readonly vmm: Methods<DeclaredOperations<typeof vmm>>
  readonly volumes: Methods<DeclaredOperations<typeof volumes>>
  /** Polls the task of a 202 answer until it ends; `seen` gets each state. @throws TaskFailure unless it SUCCEEDED */
  completed(started: Answer<StartedTask>, seen?: (task: AnswerOf<typeof Task>) => void): Promise<AnswerOf<typeof Task>>
  /** Calls any operation by its key, `platform.createCategory`. */
  readonly call: Call
}

/** Thrown when a task ends FAILED or CANCELED. */
export class TaskFailure extends Error {
  readonly task: AnswerOf<typeof Task>
  constructor(task: AnswerOf<typeof Task>) {
    const messages = (task.errorMessages ?? []).map(({ message }) => message)
    super(`task ${task.operation} ${task.status}: ${messages.join('; ')}`)
    this.task = task
  }
}

const operations = byKey(contract.flatMap((namespace) => namespace.operations))
const ends = new Set(['SUCCEEDED', 'FAILED', 'CANCELED'])

export function createClient(options: ClientOptions): Client {
  const headers: Record<string, string> = options.world === undefined ? {} : { 'X-World': options.world }
  const call = createCall(options, { operations, base: '/api', headers, path: {} })

  const completed: Client['completed'] = async (started, seen) => {
    for (;;) {
      const { data: task } = await call('platform.getTaskById', { path: { extId: started.data.extId as string } })
      seen?.(task)
      if (ends.has(task.status)) {
        if (task.status !== 'SUCCEEDED') throw new TaskFailure(task)
        return task
      }
      await new Promise((resolve) => setTimeout(resolve, options.pollMilliseconds ?? 100))
    }
  }

  return {
    ...Object.fromEntries(contract.map(({ name }) => [name, methodsOf(operations, call, name)])),
    completed,
    call,
  } as unknown as Client
}

declare const setTimeout: (run: (value: unknown) => void, milliseconds: number) => unknown
