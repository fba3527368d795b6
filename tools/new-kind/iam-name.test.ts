import assert from 'node:assert/strict'
import { test } from 'node:test'
import { iamName } from './iam-name.ts'

const cases: readonly (readonly [key: string, method: string, path: string, displayName: string, entity: string])[] = [
  ['networking.listFloatingIps', 'GET', '/config/floating-ips', 'View_Floating_Ip', 'floating_ip'],
  ['networking.createRoutingPolicy', 'POST', '/config/routing-policies', 'Create_Routing_Policy', 'routing_policy'],
  ['networking.getUplinkBondById', 'GET', '/config/uplink-bonds/{extId}', 'View_Uplink_Bond', 'uplink_bond'],
  [
    'networking.getTrafficMirrorStats',
    'GET',
    '/stats/traffic-mirrors/{extId}',
    'View_Traffic_Mirror_Stats',
    'traffic_mirror',
  ],
  [
    'vmm.powerCycleVm',
    'POST',
    '/ahv/config/vms/{extId}/$actions/power-cycle',
    'Power_Cycle_Virtual_Machine',
    'virtual_machine',
  ],
  [
    'clustermgmt.expandCluster',
    'POST',
    '/config/clusters/{extId}/$actions/expand-cluster',
    'Expand_Cluster',
    'cluster',
  ],
  [
    'iam.searchDirectoryService',
    'POST',
    '/authn/directory-services/{extId}/$actions/search',
    'Search_Directory_Service',
    'directory_service',
  ],
]

for (const [key, method, path, displayName, entity] of cases) {
  test(`${method} ${path} is ${displayName}`, () =>
    assert.deepEqual(iamName(key, method, path), { displayName, entity }))
}
