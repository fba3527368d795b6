/** Blocks: enclosures of up to four nodes. Source: catalogue clustermgmt.json; behaviour clustermgmt.md 1.7, 2. */
import { names } from '../names.ts'
import { get, list, perSecond, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { clusterHostReaders } from './roles.ts'

export const RackableUnit = resource('clustermgmt.v4.config.RackableUnit', {
  fields: {
    id: s.readOnly(s.integer()),
    model: s.readOnly(
      s.enumeration(
        names(`
          DESKTOP, NX2000, NX3000, NX3050, NX6050, NX6070, NX1050, NX3060, NX6060, NX6080, NX6020, NX7110, NX1020,
          NX9040, USELAYOUT, NULLVALUE
        `),
      ),
    ),
    modelName: s.readOnly(s.text({ maxLength: 64 })),
    serial: s.readOnly(s.text()),
    rack: s.readOnly(
      s.object('clustermgmt.v4.config.RackReference', { id: s.readOnly(s.integer()), uuid: s.readOnly(s.uuid()) }),
    ),
    nodes: s.readOnly(
      s.arrayOf(
        s.object('clustermgmt.v4.config.RackableUnitNode', {
          uuid: s.readOnly(s.uuid()),
          position: s.readOnly(s.integer()),
          /** Number of the controller VM, as in `serviceVMId` of disks. */
          svmId: s.readOnly(s.integer()),
        }),
        { maxItems: 1024 },
      ),
    ),
  },
  derived: true,
  internal: { clusterExtId: s.uuid() },
  parent: { param: 'clusterExtId', kind: 'Cluster', field: 'clusterExtId' },
})

const path = '/config/clusters/{clusterExtId}/rackable-units'
const view = { roles: clusterHostReaders, rateLimit: perSecond(5, 5, 10, 10) }

export const rackableUnitOperations = {
  listRackableUnitsByClusterId: list(path, RackableUnit, {
    ...view,
    envelope: 'clustermgmt.v4.config.ListRackableUnitsByClusterIdApiResponse',
    paged: false,
  }),
  getRackableUnitById: get(`${path}/{extId}`, RackableUnit, view),
}
