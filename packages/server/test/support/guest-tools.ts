/** Requests on the guest tools of a VM. */
import { randomUUID } from 'node:crypto'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { aSubnet, aVm, bootDisk, booted, type NativeCluster, nicOn, tagOf } from './native-cluster.ts'
import type { CallOptions, CallResult, TestApp } from './start-app.ts'

export const toolsPath = (vm: string): string => `/vmm/v4.2/ahv/config/vms/${vm}/guest-tools`
export const credential = { username: 'root', password: 'S3.guestlogin' }
export const install = { credential, rebootPreference: { scheduleType: 'IMMEDIATE' } }

/** OFF, with an empty CD-ROM drive and a NIC with an address. */
export async function aVmWithDrive(app: TestApp, cluster: NativeCluster, body: object = {}): Promise<string> {
  const subnet = await aSubnet(app, cluster, ['10.0.0.10', '10.0.0.200'])
  return (await aVm(app, cluster, { disks: [bootDisk(cluster)], nics: [nicOn(subnet)], cdRoms: [{}], ...body })).extId
}

/** The same, with a guest that is up. */
export async function aBootedVm(app: TestApp, cluster: NativeCluster, body: object = {}): Promise<string> {
  const vm = await aVmWithDrive(app, cluster, body)
  await booted(app, vm)
  return vm
}

export const readTools = async (app: TestApp, vm: string): Promise<any> => (await app.call('GET', toolsPath(vm))).data

/** `PUT`, or an action on the tools. */
export const tools = async (
  app: TestApp,
  vm: string,
  action: 'PUT' | 'insert-iso' | 'install' | 'uninstall' | 'upgrade',
  body?: object,
  options: CallOptions = {},
): Promise<CallResult> =>
  app.call(
    action === 'PUT' ? 'PUT' : 'POST',
    action === 'PUT' ? toolsPath(vm) : `${toolsPath(vm)}/$actions/${action}`,
    {
      requestId: randomUUID(),
      ifMatch: await tagOf(app, vm),
      ...(body === undefined ? {} : { body }),
      ...options,
    },
  )

/** The same, to its end. */
export const toolsDone = async (
  app: TestApp,
  ...given: Parameters<typeof tools> extends [any, ...infer R] ? R : never
) => app.task(await tools(app, ...given))

/** As if the tools had been installed by an older release. */
export const setVersion = (app: TestApp, vm: string, version: string): Promise<void> =>
  app.store.transaction(async (store) => {
    const row = await store.get(Vm, vm)
    await store.observe(Vm, vm, { guestTools: { ...row?.guestTools, version } })
  })
