/** Requests by which suites that cover every kind reach the maintenance of hosts. */
import { randomUUID } from 'node:crypto'
import { vcenterLogin } from '../../../src/seeds/demo/vcenters.ts'
import type { Asked } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { hostId, ids } from '../../support/clustermgmt.ts'
import { aNativeCluster, type NativeCluster } from '../../support/native-cluster.ts'
import { aRunningVm } from '../../support/policies.ts'
import type { TestApp } from '../../support/start-app.ts'
import { emptyingHosts } from '../../support/virtual-switches.ts'
import type { FieldBase, RestartScenario } from '../kind.ts'

const pathOf = (what: string, cluster: string = ids.native, host = hostId('hp-n01-a')): string =>
  `/clustermgmt/v4.2/operations/clusters/${cluster}/hosts/${host}/$actions/${what}-host-maintenance`

const askedFor = (what: 'enter' | 'exit', { extId, hostExtIds }: NativeCluster): Asked => ({
  method: 'POST',
  path: pathOf(what, extId, hostExtIds[0] as string),
  body: what === 'enter' ? { shouldShutdownNonMigratableUvms: true } : {},
})

/** A host with two VMs that can migrate, one that is bound to it, and an agent VM. */
async function aBusyHost(app: TestApp): Promise<NativeCluster> {
  const cluster = await aNativeCluster(app)
  const [host] = cluster.hostExtIds
  for (const body of [{}, {}, { isVcpuHardPinningEnabled: true }, { isAgentVm: true }])
    await aRunningVm(app, cluster, { ...body, host })
  return cluster
}

async function anEmptiedHost(app: TestApp): Promise<NativeCluster> {
  const cluster = await aBusyHost(app)
  const { method, path, body } = askedFor('enter', cluster)
  await app.task(await app.call(method, path, { body, requestId: randomUUID() }))
  return cluster
}

export const entering: RestartScenario = async (app) => askedFor('enter', await aBusyHost(app))
export const leaving: RestartScenario = async (app) => askedFor('exit', await anEmptiedHost(app))

const vcenterInfo = {
  address: { ipv4: { value: '10.44.2.5' } },
  credentials: vcenterLogin,
}
const ofEsx = (what: 'enter' | 'exit'): Asked => ({
  method: 'POST',
  path: pathOf(what, ids.extern, hostId('hp-e01-a')),
  body: { vcenterInfo },
})

async function anEmptiedEsxHost(app: TestApp): Promise<void> {
  const { method, path, body } = ofEsx('enter')
  await app.task(await app.call(method, path, { body, requestId: randomUUID() }))
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'clustermgmt.enter-host-maintenance': entering,
  'clustermgmt.enter-esx-host-maintenance': async () => ofEsx('enter'),
  'clustermgmt.evacuate-host': emptyingHosts,
  'clustermgmt.exit-esx-host-maintenance': async (app) => {
    await anEmptiedEsxHost(app)
    return ofEsx('exit')
  },
  'clustermgmt.exit-host-maintenance': leaving,
  'clustermgmt.repopulate-host': emptyingHosts,
}

/** A host of its own for each field: it can be entered once. */
const baseOf =
  (cluster: (app: TestApp) => Promise<NativeCluster>, what: 'enter' | 'exit'): FieldBase =>
  async (app) => ({ ...askedFor(what, await cluster(app)), body: {} })

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'clustermgmt.enterHostMaintenance': [baseOf(aNativeCluster, 'enter')],
  'clustermgmt.exitHostMaintenance': [baseOf(anEmptiedHost, 'exit')],
}

const someHost = ({ draw }: walk.Asking): string => hostId(draw.of(['hp-n01-a', 'hp-n01-b', 'hp-n01-c', 'hp-n01-d']))

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  enterMaintenance: (asking) =>
    walk.post(pathOf('enter', ids.native, someHost(asking)), {
      shouldShutdownNonMigratableUvms: asking.draw.isOneIn(2),
      shouldRollbackOnFailure: !asking.draw.isOneIn(3),
    }),
  exitMaintenance: (asking) => walk.post(pathOf('exit', ids.native, someHost(asking)), {}),
}

export const staysAfterUndo: Readonly<Record<string, string>> = {
  'clustermgmt.enter-esx-host-maintenance': 'the management remembers where the VMs ran meanwhile',
  'clustermgmt.enter-host-maintenance': 'the journal of power says that VMs moved, stopped and came back',
  'clustermgmt.evacuate-host': 'the journal of power says that VMs moved and came back',
}
