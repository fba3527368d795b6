/** Role sets and rates that several kinds of networking share. Source: behaviour networking.md 2, operation-roles.tsv. */
import { perSecond } from '../operation.ts'
import type { RoleName } from '../roles.ts'

export const subnetReaders: readonly RoleName[] = [
  'Account Owner',
  'Administrator',
  'Backup Admin',
  'CSI System',
  'Consumer',
  'Developer',
  'Kubernetes Data Services System',
  'Kubernetes Infrastructure Provision',
  'Management Connector',
  'Network Infra Admin',
  'Network Shared Resources Viewer',
  'Operator',
  'Platform Admin',
  'Platform Viewer',
  'Project Admin',
  'Project Manager',
  'Super Admin',
  'VPC Admin',
  'Virtual Machine Admin',
  'Virtual Machine Operator',
  'Virtual Machine Viewer',
]

/** Specification 5 (listBgpSessions); get, and the routes of a session, by decision. */
export const bgpReaders: readonly RoleName[] = ['Platform Admin', 'Platform Viewer', 'Super Admin', 'VPC Admin']

export const getRate = perSecond(10, 10, 20)
export const listRate = perSecond(5, 5, 10)
export const mutationRate = perSecond(5, 5, 10)
