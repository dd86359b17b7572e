package queues

// Limits names, by the name that the fit check gives a resource, the key of config that keeps Ever below what the pool has. A resource that
// is not there is limited by the pool's size alone.
func (a Args) Limits(t Tenant, p Pool) map[string]string {
	keys := map[string]string{}
	for _, d := range dimensions {
		if key := a.teamLimit(d, t, p); key != "" {
			keys[d.resource] = key
		} else if total, available := a.total(p), p.available(); *d.of(&total) < *d.of(&available) {
			keys[d.resource] = "queues.quota." + p.Name + "." + d.key
		}
	}
	return keys
}

// teamLimit is that key for a resource, where it is one of a team: its own limit on what it borrows, that of one that lends less than it has,
// or where the teams' quotas leave something to nobody, its own quota.
func (a Args) teamLimit(d dimension, t Tenant, p Pool) string {
	if a.Shape != ShapeTeams {
		return ""
	}
	nominal, total, ever := a.divide(p), a.total(p), a.Ever(t, p)
	key := func(team, field string, d dimension) string {
		return "queues.teams." + team + "." + field + "." + p.Name + "." + d.key
	}
	own, team := nominal[t.Name], a.Teams[t.Name]
	if v := d.valid(team.BorrowingLimit[p.Name]); v != nil && d.count(*v) <= *d.of(&ever)-*d.of(&own) && *d.of(&ever) < *d.of(&total) {
		return key(t.Name, "borrowingLimit", d)
	}
	given := int64(0)
	for _, name := range a.Teams.Names() {
		has := nominal[name]
		given += *d.of(&has)
		if v := d.valid(a.Teams[name].LendingLimit[p.Name]); name != t.Name && v != nil && d.count(*v) < *d.of(&has) {
			return key(name, "lendingLimit", d)
		}
	}
	switch {
	case given >= *d.of(&total):
		return ""
	case d.valid(team.Quota[p.Name]) == nil:
		return key(t.Name, "quota", dimGPUs) // which CPU and memory follow
	default:
		return key(t.Name, "quota", d)
	}
}
