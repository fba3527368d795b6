/** Requests below a VM, with its current tag. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { tagOf } from './native-cluster.ts'
import type { CallOptions, CallResult, TestApp } from './start-app.ts'

export const vms = '/vmm/v4.2/ahv/config/vms'

/** @param path below `/vms`: `<vm>/disks/<disk>` */
export async function send(
  app: TestApp,
  method: string,
  path: string,
  body?: object,
  options: CallOptions = {},
): Promise<CallResult> {
  const ifMatch = await tagOf(app, path.split('/')[0] as string)
  return app.call(method, `${vms}/${path}`, { requestId: randomUUID(), ifMatch, body, ...options })
}

export async function succeeded(app: TestApp, sent: CallResult | Promise<CallResult>): Promise<any> {
  const task = await app.task(await sent)
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return task
}

export async function failed(app: TestApp, sent: CallResult | Promise<CallResult>): Promise<any> {
  const task = await app.task(await sent)
  assert.equal(task.status, 'FAILED')
  return task
}

export const refusal = ({ status, errors }: CallResult): unknown[] => [status, errors[0]?.code]
export const pathsOf = ({ errors }: CallResult): unknown[] =>
  errors.map(({ argumentsMap }) => argumentsMap?.['attributePath'])

/** With `beforeStep: gate.wait`, no step of a task begins while `whileClosed` works. */
export class Gate {
  #closed: Promise<void> | undefined
  readonly wait = (): Promise<void> | undefined => this.#closed

  async whileClosed<T>(work: () => Promise<T>): Promise<T> {
    let open = (): void => undefined
    this.#closed = new Promise((resolve) => (open = resolve))
    try {
      return await work()
    } finally {
      this.#closed = undefined
      open()
    }
  }
}
