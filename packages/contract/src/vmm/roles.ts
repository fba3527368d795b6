/** Source: behaviour vmm.md 2, operation-roles.tsv; specification 5, 8. */
import { names } from '../names.ts'
import { perSecond } from '../operation.ts'
import type { RoleName } from '../roles.ts'

export const vmWriters: readonly RoleName[] = names(`
  Account Owner, Administrator, Consumer, Developer, Operator, Platform Admin, Project Admin, Project Manager,
  Self-Service Admin (deprecated), Super Admin, User, Virtual Machine Admin
`)

/** Source: specification 5 (getNicStatsById). */
export const vmReaders: readonly RoleName[] = [
  ...vmWriters,
  ...names(`
    Network Infra Admin, Platform Viewer, Storage Admin, VPC Admin, Virtual Machine Operator, Virtual Machine Viewer
  `),
]

/** View_Existing_Virtual_Machine: get and list together. */
export const vmViewers: readonly RoleName[] = [
  ...vmReaders,
  ...names(`
    Backup Admin, Disaster Recovery Admin, Disaster Recovery Viewer, Management Connector, Network Policy Admin,
    Network Policy Author, Network Policy Viewer
  `),
]

export const vmOperators: readonly RoleName[] = [...vmWriters, 'Virtual Machine Operator']

export const vmMigrators: readonly RoleName[] = vmWriters.filter((role) => role !== 'Consumer' && role !== 'User')

export const vmReverters: readonly RoleName[] = [
  ...vmWriters.filter((role) => role !== 'Account Owner' && role !== 'Administrator' && role !== 'User'),
  'Backup Admin',
  'Disaster Recovery Admin',
  'Virtual Machine Operator',
]

export const vmSwitchers: readonly RoleName[] = [...vmOperators, 'Backup Admin', 'Management Connector']

export const policyWriters: readonly RoleName[] = ['Platform Admin', 'Super Admin', 'Virtual Machine Admin']
export const policyReaders: readonly RoleName[] = [
  ...policyWriters,
  'Cluster Admin',
  'Cluster Viewer',
  'Platform Viewer',
  'Virtual Machine Operator',
  'Virtual Machine Viewer',
]

export const imagePolicyReaders: readonly RoleName[] = names(`
  Consumer, Developer, Platform Admin, Platform Viewer, Project Admin, Project Manager, Self-Service Admin (deprecated),
  Super Admin, Virtual Machine Admin
`)

export const getRate = perSecond(20, 20, 40)
export const listRate = perSecond(5, 5, 10)
export const vmListRate = perSecond(10, 10, 20)
export const vmMutationRate = perSecond(5, 5, 10)
/** Migrations of VMs and of disks, revert, customisation of guests, recovery points. */
export const vmSlowMutationRate = perSecond(2, 2, 5)
export const consoleTokenRate = perSecond(1, 1, 2)
export const policyMutationRate = perSecond(2, 2, 5)
/** Source: specification 8 (getNicStatsById); the other statistics of one thing by decision. */
export const statisticsRate = perSecond(2, 2, 4)
export const statisticsListRate = perSecond(1, 1, 2)
