/** Requests on the guest tools of an external VM. */
import { randomUUID } from 'node:crypto'
import { ExternVm } from '@hyperplane/contract/vmm/extern/vm'
import { seedId } from '../../src/core/ids/named-id.ts'
import { outsideVms } from '../../src/drivers/simulated/external-hypervisor.ts'
import { install } from './guest-tools.ts'
import type { CallOptions, CallResult, TestApp } from './start-app.ts'

export const externPath = (vm: string): string => `/vmm/v4.2/extern/config/vms/${vm}`
export const externToolsPath = (vm: string): string => `${externPath(vm)}/nutanix-guest-tools`
/** Of the demo: ON for days, without drives. */
export const erp = seedId('extern-vm/legacy-erp')

export const readExternTools = async (app: TestApp, vm = erp): Promise<any> =>
  (await app.call('GET', externToolsPath(vm))).data

/** `PUT`, or an action on the tools. */
export async function externTools(
  app: TestApp,
  action: 'PUT' | 'insert-iso' | 'install' | 'uninstall' | 'upgrade',
  body?: object,
  { vm = erp, ...options }: CallOptions & { readonly vm?: string } = {},
): Promise<CallResult> {
  const path = externToolsPath(vm)
  const { etag } = await app.call('GET', path)
  return app.call(action === 'PUT' ? 'PUT' : 'POST', action === 'PUT' ? path : `${path}/$actions/${action}`, {
    requestId: randomUUID(),
    ifMatch: etag as string,
    ...(body === undefined ? {} : { body }),
    ...options,
  })
}

/** The same, to its end. */
export const externToolsDone = async (
  app: TestApp,
  ...given: Parameters<typeof externTools> extends [any, ...infer R] ? R : never
) => app.task(await externTools(app, ...given))

/** Gives the VM an empty drive, as the users of its management do. */
export async function anEmptyDrive(app: TestApp, vm = erp): Promise<void> {
  const fact = outsideVms(app.world).get(vm)
  if (fact === undefined) throw new Error(`no external VM ${vm}`)
  const drive = { extId: randomUUID(), diskAddress: { busType: 'IDE', index: 0 } } as const
  await outsideVms(app.world).put(vm, { ...fact, vm: { ...fact.vm, cdRoms: [drive] } })
  await app.clock.advance(31_000)
  await app.store.transaction(async () => undefined)
}

/** With tools that answer. */
export async function withExternTools(app: TestApp, version?: string): Promise<void> {
  const task = await externToolsDone(app, 'install', install)
  if (task.status !== 'SUCCEEDED') throw new Error(JSON.stringify(task.errorMessages))
  await app.clock.advance(1000)
  if (version === undefined) return
  // As if an older release had installed them.
  await app.store.transaction(async (store) => {
    const row = await store.get(ExternVm, erp)
    await store.observe(ExternVm, erp, { nutanixGuestTools: { ...row?.nutanixGuestTools, version } })
  })
}
