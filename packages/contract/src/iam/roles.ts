/** Role sets that several kinds share. Source: specification 5; behaviour iam.md 10, operation-roles.tsv. */
import { names } from '../names.ts'
import type { RoleName } from '../roles.ts'

/** Readers of authorization policies, and of the entities and operations that those name. */
export const policyReaders: readonly RoleName[] = names(`
  Account Owner, Administrator, Central Admin, Platform Admin, Platform Viewer, Project Manager,
  Self-Service Admin (deprecated), Super Admin, User
`)

/** Readers of users and of their groups. */
export const userReaders: readonly RoleName[] = names(`
  Backup Admin, Central Admin, Platform Admin, Platform Viewer, Project Admin, Project Manager,
  Self-Service Admin (deprecated), Super Admin, User Admin
`)

/** May change users and remove groups; Project Admin may also create both. */
export const userWriters: readonly RoleName[] = names(`
  Central Admin, Platform Admin, Project Manager, Self-Service Admin (deprecated), Super Admin, User Admin
`)
