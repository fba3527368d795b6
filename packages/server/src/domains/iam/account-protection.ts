/** The caller must hold every right of an account that it controls, those by directory groups included. Source: behaviour iam.md 8. */
import { DirectoryService } from '@hyperplane/contract/iam/directory-service'
import type { User } from '@hyperplane/contract/iam/user'
import { UserGroup } from '@hyperplane/contract/iam/user-group'
import { ApiError } from '../../core/api-error.ts'
import type { ReadContext, WriteContext } from '../context.ts'
import { normalForm } from './directory/distinguished-name.ts'
import { userGroupIds } from './directory/memberships.ts'
import { ifItAnswers, serverOf } from './directory/server.ts'
import { bareName } from './directory/sign-in.ts'
import { denied, Giver, refuseIfLacking } from './escalation.ts'
import { mayMatchIdentity } from './filters/identity-filter.ts'
import { type Grant, grantsTo, userFacts } from './grants.ts'

/** `isNew`: not created yet; `extId` is empty before the transaction. */
export type Account = Pick<User, 'extId' | 'username' | 'userType' | 'idpId'> & {
  readonly isNew?: boolean
}

/** For SELF_OWNED. A new account owns nothing, so the rights of the caller decide. */
const ownerOf = ({ caller }: ReadContext, { extId, isNew }: Account): string => (isNew === true ? caller.extId : extId)

/** Normalised group names, or the reason why the directory did not return them. Undefined: no group could matter. */
export type GroupReport = { readonly groups: ReadonlySet<string> } | { readonly cause: string } | undefined

/** Queries the directory only if groups could matter. For `prepare`, outside the transaction: it may be slow. */
export async function reportedGroups(ctx: ReadContext, account: Account): Promise<GroupReport> {
  if (account.userType !== 'LDAP' || account.extId === ctx.caller.extId) return undefined
  const giver = await Giver.of(ctx)
  if (giver.lacksOf(await possibleGrants(ctx, giver, account), ownerOf(ctx, account)).length === 0) return undefined
  const row = await ctx.store.get(DirectoryService, account.idpId ?? '')
  if (row === undefined) return { groups: new Set() }
  const answered = await ifItAnswers(ctx.drivers.directory, async (directory) => {
    const server = serverOf(ctx.secrets, row)
    const found = await directory.findUser(server, bareName(row, account.username))
    return found === undefined ? [] : directory.groupsOf(server, found, row.groupSearchType === 'RECURSIVE')
  })
  if ('cause' in answered) return answered
  return { groups: new Set(answered.answer.flatMap((name) => normalForm(name) ?? [])) }
}

/** @throws ApiError 403 if the account holds rights that the caller lacks; 409 if policies changed since `report` */
export async function requireAccountCovered(ctx: WriteContext, account: Account, report: GroupReport): Promise<void> {
  if (account.extId === ctx.caller.extId) return
  const giver = await Giver.of(ctx)
  const facts = userFacts(account)
  const lacks = (grants: readonly Grant[]): readonly string[] => giver.lacksOf(grants, ownerOf(ctx, account))
  const to = ` on "${account.username}"`
  if (account.userType !== 'LDAP') return refuseIfLacking(ctx, lacks(grantsTo(giver.grants, facts)), to)
  // `reportedGroups` queried the directory only if this list is not empty.
  if (lacks(await possibleGrants(ctx, giver, account)).length === 0) return
  if (report === undefined)
    throw new ApiError('CONFLICT', { fault: 'Authorization policies changed at the same time. Retry.' })
  if ('cause' in report) {
    throw denied(ctx, `${to}: its directory does not answer (${report.cause}), so what its groups hold is not known`)
  }
  const groups = await userGroupIds(ctx.store, { extId: account.idpId ?? '' }, report)
  refuseIfLacking(ctx, lacks(grantsTo(giver.grants, { ...facts, groups: new Set(groups) })), to)
}

async function possibleGrants({ store }: ReadContext, { grants }: Giver, account: Account): Promise<readonly Grant[]> {
  const ofDirectory = await store.findWhere(UserGroup, { idpId: account.idpId ?? '' })
  const groups = new Set(ofDirectory.map(({ extId }) => extId))
  const facts = userFacts(account)
  return grants.filter((grant) => grant.identities.some((filter) => mayMatchIdentity(filter, facts, groups)))
}
