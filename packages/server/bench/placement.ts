/**
 * Measures the scheduler beside policies: one VM is placed on 64 hosts that run 5,000 VMs, under 200 policies; and a
 * policy that selects all of these VMs is judged. Source: behaviour vmm.md 1.12, 3.2, 3.9.
 */
import { tmpdir } from 'node:os'
import type { EntityOf } from '@hyperplane/contract'
import { Category } from '@hyperplane/contract/platform/category'
import { VmAntiAffinityPolicy } from '@hyperplane/contract/vmm/policies/vm-anti-affinity-policy'
import { VmHostAffinityPolicy } from '@hyperplane/contract/vmm/policies/vm-host-affinity-policy'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { place, releaseReservation, reserve } from '../src/domains/scheduling/scheduler.ts'
import { setOn } from '../src/domains/vmm/vm/power/power-state.ts'
import { createSimulatedDrivers } from '../src/drivers/simulated/index.ts'
import { aNativeCluster, aVm, MiB } from '../test/support/native-cluster.ts'
import { categorise, hostAffinityPolicies, hostPolicyBody, made } from '../test/support/policies.ts'
import { startApp, type TestApp } from '../test/support/start-app.ts'

/** Milliseconds of processor time, medians. */
export interface PlacementTimes {
  /** With the reservation, within its transaction. */
  readonly placed: number
  /** A page of compliance states of a policy that selects every VM. */
  readonly judged: number
}

const [hosts, vms, policies] = [64, 5000, 200]

export async function measurePlacement(): Promise<PlacementTimes> {
  const app = await startApp({ config: { seed: 'empty' } })
  try {
    const cluster = await aNativeCluster(app, { hosts, usableGiB: 4000, threads: 256 })
    const [all, rack, ...others] = await categories(app, policies + 2)
    await categorise(app, cluster.hostExtIds, rack as string)
    const template = await aVm(app, cluster, { memorySizeBytes: 64 * MiB })
    await run(app, cluster.hostExtIds, template, vms, (index) => [
      all as string,
      others[index % others.length] as string,
    ])
    await storePolicies(app, others, rack as string)
    const path = await made(app, hostAffinityPolicies, hostPolicyBody([all as string], [rack as string]))
    const [vm] = await app.store.find(Vm, { limit: 1, offset: vms / 2 })
    return {
      placed: await median(51, () => onePlacement(app, vm as VmEntity)),
      judged: await median(15, async () => {
        await app.store.transaction(async (store) => store.touch(Category, all as string))
        const began = process.cpuUsage()
        const { status } = await app.call('GET', `${path}/vm-compliance-states`)
        if (status !== 200) throw new Error(`the list of states was answered with ${status}`)
        return millisecondsSince(began)
      }),
    }
  } finally {
    await app.close()
  }
}

type VmEntity = EntityOf<typeof Vm>

const driversOf = ({ world }: TestApp) => createSimulatedDrivers(world, { folder: tmpdir(), durations: 'instant' })

async function categories(app: TestApp, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => crypto.randomUUID())
  await app.store.transaction(async (store) => {
    for (const [index, extId] of ids.entries())
      await store.insert(Category, { extId, key: 'placement', value: String(index), type: 'USER' })
  })
  return ids
}

/** Copies of the VM run on all hosts in turn. */
async function run(
  app: TestApp,
  hostExtIds: readonly string[],
  template: VmEntity,
  count: number,
  carried: (index: number) => string[],
): Promise<void> {
  const ctx = { clock: app.clock, ids: { uuid: () => crypto.randomUUID() } }
  for (let from = 0; from < count; from += 500) {
    await app.store.transaction(async (store) => {
      for (let index = from; index < from + 500; index++) {
        const extId = crypto.randomUUID()
        const vm: VmEntity = { ...template, extId, biosUuid: extId, name: `vm-${index}` }
        await store.insert(Vm, { ...vm, categories: carried(index).map((category) => ({ extId: category })) })
        const host = hostExtIds[index % hostExtIds.length] as string
        await reserve(store, vm, host)
        await setOn({ ...ctx, store }, vm, host)
      }
    })
  }
}

/** Half of the policies are of each kind; each selects 25 of the VMs. */
async function storePolicies(app: TestApp, others: readonly string[], rack: string): Promise<void> {
  await app.store.transaction(async (store) => {
    for (let index = 0; index < policies; index++) {
      const selected = [{ extId: others[index % others.length] as string }]
      const policy = { extId: crypto.randomUUID(), name: `policy ${index}` }
      if (index % 2 === 0) await store.insert(VmAntiAffinityPolicy, { ...policy, categories: selected } as never)
      else
        await store.insert(VmHostAffinityPolicy, {
          ...policy,
          vmCategories: selected,
          hostCategories: [{ extId: rack }],
        } as never)
    }
  })
}

/** The VM runs nowhere while it is placed, and gets its reservation back afterwards. */
async function onePlacement(app: TestApp, vm: VmEntity): Promise<number> {
  const drivers = driversOf(app)
  await app.store.transaction((store) => releaseReservation(store, vm.extId))
  return app.store.transaction(async (store) => {
    const began = process.cpuUsage()
    await place({ store, drivers }, vm)
    return millisecondsSince(began)
  })
}

function millisecondsSince(began: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(began)
  return (user + system) / 1000
}

async function median(times: number, work: () => Promise<number>): Promise<number> {
  const found: number[] = []
  for (let turn = 0; turn < times; turn++) found.push(await work())
  return found.sort((a, b) => a - b)[times >> 1] as number
}
