/** Requests by which suites that cover every kind reach controller VMs. */
import * as walk from '../../restart/walks/request-parts.ts'
import { clustermgmt, ids } from '../../support/clustermgmt.ts'
import { aNativeCluster, GiB, type NativeCluster } from '../../support/native-cluster.ts'
import type { TestApp } from '../../support/start-app.ts'
import type { FactOwner, FieldBase, RestartScenario } from '../kind.ts'

const pathOf = (cluster: string): string => `${clustermgmt}/clusters/${cluster}/cvms/$actions/reconfigure`

const reconfiguring =
  (of: (app: TestApp) => Promise<Pick<NativeCluster, 'extId'>>): RestartScenario =>
  async (app) => ({
    method: 'POST',
    path: pathOf((await of(app)).extId),
    body: { numVcpus: 12, memorySizeBytes: 40 * GiB },
  })

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'clustermgmt.reconfigure-controller-vms': reconfiguring(async () => ({ extId: ids.native })),
  'clustermgmt.resize-controller-vm': reconfiguring(async () => ({ extId: ids.extern })),
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'clustermgmt.reconfigureCvms': [
    async (app) => ({ path: pathOf((await aNativeCluster(app)).extId), body: { numVcpus: 12 } }),
  ],
}

/** Whole GiB, from 16 on. */
export const fieldValues: Readonly<Record<string, readonly unknown[]>> = {
  'clustermgmt.reconfigureCvms memorySizeBytes': [40 * GiB],
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  reconfigureControllerVms: ({ draw }) =>
    walk.post(pathOf(ids.native), { memorySizeBytes: draw.of([24, 32, 48, 256]) * GiB }),
}

export const factOwners: Readonly<Record<string, FactOwner>> = {
  'hardware.controllerVms': ({ ids }) => ids('Host'),
}

export const staysAfterUndo: Readonly<Record<string, string>> = {
  'clustermgmt.reconfigure-controller-vms': 'controller VMs that were resized stay so',
}
