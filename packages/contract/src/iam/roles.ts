/** Sets of roles that operations of several kinds share. Source: specification 5; behaviour iam.md 10, operation-roles.tsv. */
import type { RoleName } from '../roles.ts'

/** Readers of authorization policies, and of the entities and operations that those name. */
export const policyReaders: readonly RoleName[] = [
  'Account Owner',
  'Administrator',
  'Central Admin',
  'Platform Admin',
  'Platform Viewer',
  'Project Manager',
  'Self-Service Admin (deprecated)',
  'Super Admin',
  'User',
]
